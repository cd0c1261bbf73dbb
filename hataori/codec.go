package hataori

import (
	"fmt"

	"github.com/hataori/hataori-go/hataori/internal/codec"
)

// typed carries values of one type.
type typed[T any] = codec.Typed[T]

// codecFor returns what carries values of type T under the options.
func codecFor[T any](opts *Options) (*typed[T], error) {
	c := opts.Codec
	if c == nil {
		t, err := codec.For[T]()
		if err != nil {
			return nil, err
		}
		return &t, nil
	}
	name := ""
	if err := apart(func() { name = c.Name() }); err != nil {
		return nil, fmt.Errorf("the method Name of %T did not return: %w", c, err)
	}
	return &typed[T]{
		Name:   fmt.Sprintf("%T %q", c, name),
		Size:   -1,
		Own:    true,
		Append: func(dst []byte, v *T) ([]byte, error) { return c.Append(dst, v) },
		Decode: func(src []byte, v *T) error { return c.Decode(src, v) },
	}, nil
}
