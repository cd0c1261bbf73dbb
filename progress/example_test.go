package progress_test

import (
	"os"
	"time"

	"github.com/hataori/hataori-go/hataori"
	"github.com/hataori/hataori-go/progress"
)

// The scheduler calls Show, through the options that Attach returns. Here is no
// terminal, so lines are written.
func Example() {
	show := progress.New(os.Stdout, progress.Options{Every: 10 * time.Second, Name: "job"})
	show.Show(hataori.Progress{Done: 0, Total: 200, Rate: 10, Lanes: 8})
	show.Show(hataori.Progress{Done: 100, Total: 200, Elapsed: 10 * time.Second, Rate: 10, Lanes: 8, Busy: 7, Failed: 1})
	show.Show(hataori.Progress{Done: 200, Total: 200, Elapsed: 20 * time.Second, Rate: 10, Lanes: 8, Failed: 1})
	show.Close()
	// Output:
	// job: 10s: 100 of 200 items (50 %), 10/s, 1 failed, 7 of 8 lanes busy
	// job: 20s: 200 of 200 items (100 %), 10/s, 1 failed, 0 of 8 lanes busy
}
