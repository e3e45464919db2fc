package filelock_test

import (
	"context"
	"errors"
	"log"
	"time"

	"github.com/holdfast-go/holdfast/filelock"
)

// One update at a time on this machine, whoever starts it.
func ExampleNamed() {
	updater := filelock.Named("com.example.updater", filelock.AllUsers, filelock.Wait(time.Minute))
	err := filelock.Do(context.Background(), updater, func(ctx context.Context, lease filelock.Lease) error {
		if dead, ok := filelock.TakeoverOf(lease); ok {
			log.Printf("the last update was cut off at %v (PID %d): starting over", dead.Since, dead.PID)
		}
		return ctx.Err() // the update
	})
	switch {
	case errors.Is(err, filelock.ErrHeld):
		log.Print("another update is under way: ", err)
	case errors.Is(err, filelock.ErrMisconfigured):
		log.Print("this machine has no place for the lock, and an administrator has to see to it: ", err)
	case err != nil:
		log.Print(err)
	}
}
