package ref_test

import (
	"testing"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/enginetest"
	"github.com/hataori/hataori-go/engine/ref"
)

func TestEngine(t *testing.T) {
	enginetest.Run(t, func(t *testing.T) engine.Execution { return ref.New() })
}
