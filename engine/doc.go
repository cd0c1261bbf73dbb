// Package engine is the contract of the execution engines: tensors, their
// specifications, operations as values, and what an engine owes its callers.
//
// It holds interfaces and values only and imports the standard library alone.
// engine/ref is the slow reference engine, engine/cpu the fast one;
// engine/enginetest is the suite that both pass.
//
// # Use
//
//	a, err := engine.FromSlice([]float64{1, 2, 3, 4}, 2, 2)
//	b, err := engine.FromSlice([]float64{5, 6, 7, 8}, 2, 2)
//	c, err := engine.MatMul(e, a, b)
//	data, err := engine.Data[float64](c)
//	err = e.Release(c)
//
// That is the convenient form. What runs often is bound once and run many
// times; Run then allocates nothing:
//
//	k, err := e.Bind(op, []engine.Spec{a.Spec(), b.Spec()}, nil)
//	c, err := e.Alloc(k.Out(0))
//	in, out := []*engine.Tensor{a, b}, []*engine.Tensor{c}
//	for … { err = e.Run(k, out, in) }
//
// # Where things are
//
//   - Tensors from numbers: [FromSlice] (no copy), [Upload], [Zeros], [Full], [Eye],
//     [Arange], [Rand]; numbers from tensors: [Data] (no copy), [Download].
//   - Views, which copy nothing: [Tensor.Reshape], [Tensor.Permute], [Tensor.Slice],
//     [Tensor.Index], [Tensor.Diagonal].
//   - Computing: [MatMul], [Dot], [Sum], and any operation by [Apply] or [Eval]; the
//     forms that end in Into write to a tensor that exists. docs/operations.md lists
//     the operations, package einsum contracts networks of tensors.
//   - What engines are made of says "For engines" and is nothing for callers.
//
// # The caller's duties
//
//  1. One run at a time on one engine. A second concurrent caller gets
//     ErrBusy at once; k concurrent computations take k engines.
//  2. Every view of an engine's tensor is released before the tensor itself.
//  3. A slice given to FromSlice is not touched by others while a run uses it.
//
// # Promises
//
// No implicit broadcast, promotion, transfer or fallback: each is an explicit
// operation or an error. A validation error leaves outputs untouched. An
// output may exactly equal an input where the operation says so (Op.MayAlias);
// every other overlap is refused. Views never copy. Nothing keeps running
// after a call on a host engine returned.
package engine
