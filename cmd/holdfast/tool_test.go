package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/atomicwrite"
	"github.com/holdfast-go/holdfast/filelock"
)

// tools are the parts that the scripts need played by processes.
var tools = map[string]func(args []string) error{
	"print":    toolPrint,    // TEXT...        print each on a line
	"exit":     toolExit,     // CODE
	"upper":    toolUpper,    //                standard input in capitals
	"count":    toolCount,    //                standard input is {"n":N}; print it with N+1
	"hold":     toolHold,     // F READY UNTIL  hold F's lock, make READY, until UNTIL exists
	"dead":     toolDead,     // F              write a lock record of a process that has exited
	"alive":    toolAlive,    // F READY UNTIL  write a lock record of ourselves, as Node does
	"block":    toolBlock,    // READY          make READY with our PID in it, then wait for a signal
	"catch":    toolCatch,    // READY LOG CODE [SIG]  as block, but log signals; SIGTERM, or SIG, ends by CODE
	"temps":    toolTemps,    // F N            wait until F has N temporary files
	"until":    toolUntil,    // F [RE]         wait until F exists (and matches)
	"make":     toolMake,     // F TEXT         write a file
	"remove":   toolRemove,   // F
	"link":     toolLink,     // TARGET F
	"run":      toolRun,      // CMD...         a process between
	"ends":     toolEnds,     // [-pid F] [-err F] WANT CMD...  as the scripts' ends, for the background
	"parallel": toolParallel, // N M CMD...     N at a time run CMD M times
	"signal":   toolSignal,   // NAME PIDFILE
	"events":   toolEvents,   // F              the events of a report in one line, with codes and signals
}

func toolMain() {
	tools["then"] = toolThen // TOOL ARGS , TOOL ARGS ...  one after another
	if err := tools[os.Args[1]](os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "tool:", err)
		os.Exit(1)
	}
}

func toolPrint(args []string) error {
	_, err := fmt.Println(strings.Join(args, "\n"))
	return err
}

func toolExit(args []string) error {
	code, err := strconv.Atoi(args[0])
	if err == nil {
		os.Exit(code)
	}
	return err
}

func toolUpper([]string) error {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(bytes.ToUpper(text))
	return err
}

func toolCount([]string) error {
	var c struct {
		N int `json:"n"`
	}
	if err := json.NewDecoder(os.Stdin).Decode(&c); err != nil {
		return err
	}
	c.N++
	return json.NewEncoder(os.Stdout).Encode(c)
}

func toolHold(args []string) error {
	l, err := filelock.Acquire(context.Background(), args[0])
	if err != nil {
		return err
	}
	if err := ready(args[1]); err != nil {
		return err
	}
	if err := toolUntil(args[2:]); err != nil {
		return err
	}
	return l.Release()
}

func toolDead(args []string) error {
	cmd := exec.Command(os.Args[0], "exit", "0")
	if err := cmd.Run(); err != nil {
		return err
	}
	return record(args[0], cmd.Process.Pid)
}

func toolAlive(args []string) error {
	if err := record(args[0], os.Getpid()); err != nil {
		return err
	}
	if err := ready(args[1]); err != nil {
		return err
	}
	if err := toolUntil(args[2:]); err != nil {
		return err
	}
	return os.Remove(args[0] + ".lock")
}

func record(file string, pid int) error {
	return os.WriteFile(file+".lock", fmt.Appendln(nil, pid), 0o600)
}

// ready makes a file with our PID in it that others wait for.
func ready(file string) error { return publish(file, strconv.Itoa(os.Getpid())+"\n") }

// publish makes a whole file.
func publish(file, text string) error {
	if err := os.WriteFile(file+"-part", []byte(text), 0o666); err != nil {
		return err
	}
	return os.Rename(file+"-part", file)
}

func toolBlock(args []string) error {
	if err := ready(args[0]); err != nil {
		return err
	}
	time.Sleep(patience) // a signal ends it: that it lasts is the subject
	return fmt.Errorf("no signal came")
}

func toolCatch(args []string) error {
	last := "SIGTERM"
	if len(args) > 3 {
		last = args[3]
	}
	arriving := make(chan os.Signal, 16)
	signal.Notify(arriving, catchable...)
	if err := ready(args[0]); err != nil {
		return err
	}
	time.AfterFunc(patience, func() { os.Exit(1) })
	var log string
	for sig := range arriving {
		log += nameOf(sig) + "\n"
		if err := publish(args[1], log); err != nil {
			return err
		}
		if nameOf(sig) == last {
			return toolExit(args[2:3])
		}
	}
	return nil
}

// patience bounds every wait of a test. It is never waited out unless the test fails.
const patience = 60 * time.Second

func toolUntil(args []string) error {
	want := regexp.MustCompile("")
	if len(args) > 1 {
		want = regexp.MustCompile(args[1])
	}
	return eventually(func() (string, bool) {
		text, err := atomicwrite.ReadFile(args[0]) // on Windows os.ReadFile does not open what others may remove
		return fmt.Sprintf("%s: %q, %v", args[0], text, err), err == nil && want.Match(text)
	})
}

func toolTemps(args []string) error {
	return eventually(func() (string, bool) {
		temps, err := filepath.Glob(args[0] + ".*.tmp")
		return fmt.Sprintf("%q, %v", temps, err), err == nil && strconv.Itoa(len(temps)) == args[1]
	})
}

// eventually waits until look says yes; it sleeps between two looks only.
func eventually(look func() (found string, yes bool)) error {
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		found, yes := look()
		if yes {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("gave up waiting: %s", found)
		}
	}
}

func toolMake(args []string) error { return publish(args[0], args[1]+"\n") }

func toolRemove(args []string) error { return os.Remove(args[0]) }

func toolLink(args []string) error { return os.Symlink(args[0], args[1]) }

func toolThen(args []string) error {
	for len(args) > 0 {
		n := 0
		for n < len(args) && args[n] != "," {
			n++
		}
		if err := tools[args[0]](args[1:n]); err != nil {
			return err
		}
		args = args[min(n+1, len(args)):]
	}
	return nil
}

func toolRun(args []string) error {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err, ok := cmd.Run().(*exec.ExitError); ok {
		os.Exit(err.ExitCode())
	}
	return nil
}

func toolEnds(args []string) error {
	pidFile, errFile := "", ""
	for args[0] == "-pid" || args[0] == "-err" {
		if args[0] == "-pid" {
			pidFile = args[1]
		} else {
			errFile = args[1]
		}
		args = args[2:]
	}
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if errFile != "" {
		f, err := os.Create(errFile)
		if err != nil {
			return err
		}
		cmd.Stderr = f
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if pidFile != "" {
		if err := publish(pidFile, strconv.Itoa(cmd.Process.Pid)+"\n"); err != nil {
			return err
		}
	}
	if got := how(cmd.Wait()); got != args[0] {
		return fmt.Errorf("%s ended by %s, not by %s", args[1], got, args[0])
	}
	return nil
}

func toolParallel(args []string) error {
	workers, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	times, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	errs := make(chan error, workers*times)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for range times {
				cmd := exec.Command(args[2], args[3:]...)
				cmd.Stderr = os.Stderr
				errs <- cmd.Run()
			}
		})
	}
	all.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func toolEvents(args []string) error {
	text, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	var events []string
	for _, l := range strings.SplitAfter(string(text), "\n") {
		if l == "" {
			continue
		}
		var e line
		if err := json.Unmarshal([]byte(l), &e); err != nil || !strings.HasSuffix(l, "}\n") {
			return fmt.Errorf("%q: %w", l, err)
		}
		events = append(events, e.Event)
		if e.Code != nil {
			events = append(events, fmt.Sprintf("code=%d", *e.Code))
		}
		if e.Signal != nil {
			events = append(events, "signal="+*e.Signal)
		}
	}
	return toolPrint([]string{strings.Join(events, " ")})
}
