// Package einsum plans contractions of any number of tensors and runs them on
// an execution engine. One contraction, in one call:
//
//	c, err := einsum.Contract(e, "ij,jk->ik", a, b)
//
// One that is needed often, or in slices, is planned and prepared first:
//
//	s, err := einsum.Parse("ij,jk,kl->il")
//	plan, err := einsum.FindPlan(ctx, s, shapes, einsum.PlanOptions{}) // once
//	ready, err := plan.Prepare(e, a.Spec(), b.Spec(), c.Spec()) // once per engine
//	err = ready.Load(a, b, c)
//	out, err := engine.Zeros(e, dtype, plan.SliceShape()...)
//	err = ready.Run(out, 0)                              // as often as needed
//	err = ready.Close()
//
// The value of the output at given labels is the sum, over all other labels, of
// the product of the operands. Labels may be repeated in one operand (the
// diagonal is meant, or the trace when the output lacks the label), be in any
// number of operands (then they stay until their last use), be in one operand and
// nowhere else (then they are summed first), or be repeated in the output (then
// they fill a diagonal, and the rest is zero). The arrow is always written out.
// Axes of one label have one length: nothing is stretched.
//
// # Paths and plans
//
// A [Path] says in which order operands are contracted, two at a time. Give one
// that a planner found, let [FindPath] find one, or [Greedy] in less time;
// [Improve] takes a path and returns a cheaper one. [FindPlan] finds path and
// slices together for a bound on memory. A [Plan] is immutable and shared; it says
// what it costs before anything is computed ([Plan.Cost], [Plan.Details]), and goes
// to other ranks and into files as bytes ([Plan.MarshalBinary]).
//
// # Slices
//
// [Plan.Slice] cuts the plan along labels into independent contractions of the
// same form, smaller than the whole: items for a scheduler. [Plan.SliceTo] and
// [Plan.FindCuts] choose the labels for a memory bound or a number of slices. What
// the slices have in common an engine computes once. [AddSlice] puts them together;
// the bits then depend on the plan and the engines' targets alone, not on who
// computed which slice when.
//
// # Long chains
//
// [Prepared.RunScaled] carries a power of two beside the numbers, so that products
// of any length neither overflow nor vanish.
//
// # The caller's duties
//
//  1. One goroutine at a time uses a [Prepared], as it does its engine.
//  2. Operands are not changed or released between [Prepared.Load] and the last
//     run.
//  3. [Prepared.Close] comes before the engine's Close.
//
// # Errors
//
// What is wrong with subscripts, shapes, paths, cuts and operands is an [*Error]
// that names operand, axis or step; a limit on memory that cannot be met is a
// [*LimitError] that names the least that can. Errors of the engine are passed on, with
// the step they came from. Nothing is broadcast, promoted or copied to another
// memory domain silently.
package einsum
