package pluginrun

import (
	"context"
	"fmt"
	"strings"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// begin starts the program behind its gate, records it, and opens the gate. After an error nothing runs and nothing is
// recorded.
func (op *operation) begin(ctx context.Context) error {
	mark := profileMark(op.id) + op.token
	if ctx.Err() != nil {
		return op.cancelled(ctx)
	}
	if err := op.lock.Check(); err != nil { // somebody else may begin as well
		return &LostError{Dir: op.dir, Err: err}
	}
	err := op.inPlace()
	if err != nil {
		return err
	}
	if op.out, err = op.openLog(op.token[:6]); err != nil {
		return err
	}
	if err := op.start(mark); err != nil {
		op.out.discard(op)
		return err
	}
	op.began = op.sys.now()
	op.result = &Result{ExitCode: -1, Log: op.out.path, Leftover: op.leftover}
	op.out.follow(op)
	if op.opts.onStart != nil {
		op.opts.onStart(op.child.pid())
	}
	return nil
}

// start is begin without the log. A file that is executable and no program is a shell's script to shells and to execvp,
// which is what some package managers install.
func (op *operation) start(mark string) error {
	args := append([]string{op.opts.program}, op.args...)
	err := op.startAs(op.path, args, mark)
	if op.sys.isScript(err) {
		err = op.startAs(shellPath, append([]string{"sh", op.path}, op.args...), mark)
	}
	return err
}

const shellPath = "/bin/sh"

func (op *operation) startAs(path string, args []string, mark string) (err error) {
	op.child, err = op.sys.start(start{
		path: path, args: args, env: withMark(op.opts.env, mark, !op.opts.attached),
		dir: op.place.dir, attached: op.opts.attached, mark: mark,
	})
	if err != nil {
		return &StartError{op.opts.program, err}
	}
	pid := op.child.pid()
	op.log.Debug("recording the run", "path", op.place.record(), "pid", pid)
	recorded := recordedRun{int64(pid), !op.opts.attached}
	if op.record, err = op.sys.writeRecord(op.place.own(), recorded, op.sys.probe(pid).Start); err != nil {
		op.child.abandon()
		op.close()
		return &Error{"record the run", op.place.record(), err}
	}
	if err := op.child.open(); err != nil {
		op.unrecord()
		op.close()
		return op.notRun(path, err)
	}
	return nil
}

// unrecord removes our record, unless another has its place by now.
func (op *operation) unrecord() {
	defer op.closeRecord()
	switch err := op.sys.removeRecord(op.place.own(), op.record); {
	case err == errOther:
		op.log.Info("the record is another run's by now, and stays", "path", op.place.record())
	case err != nil && !sys.IsKind(err, sys.NotExist):
		op.log.Warn("the record of a run that has stopped could not be removed", "path", op.place.record(), "err", err)
	}
}

func (op *operation) closeRecord() {
	op.record.close()
	op.record.open = nil
}

// profileMark begins the words of all runs in a profile, whichever name it goes by.
func profileMark(id sys.FileID) string { return fmt.Sprintf("%x-%x-", id.Dev, id.Ino) }

// withMark is an environment with one more word in Variable, and CI=1 for a run without a terminal.
func withMark(env []string, mark string, captured bool) []string {
	words := mark
	var marked []string
	for _, v := range env {
		if outer, ok := strings.CutPrefix(v, Variable+"="); ok {
			words = strings.TrimSpace(outer + " " + mark)
			continue
		}
		if captured && strings.HasPrefix(v, "CI=") {
			continue
		}
		marked = append(marked, v)
	}
	if captured {
		marked = append(marked, "CI=1")
	}
	return append(marked, Variable+"="+words)
}
