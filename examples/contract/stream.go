package main

import "hash/fnv"

// stream is the SplitMix64 generator (Steele, Lea and Flood, OOPSLA 2014): the
// same numbers on every machine from one 64-bit state.
type stream uint64

// newStream is the stream that fills operand k of a problem.
func newStream(name string, k int) stream {
	h := fnv.New64a()
	h.Write([]byte(name)) // never fails
	return stream(h.Sum64() + uint64(k))
}

func (s *stream) next() uint64 {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// unit draws from [0, 1) in steps of 2⁻⁵³.
func (s *stream) unit() float64 { return float64(s.next()>>11) / (1 << 53) }

// below draws from 0…n−1, for small n.
func (s *stream) below(n int) int { return int(s.next() % uint64(n)) }
