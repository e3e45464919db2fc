package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

type versionVerb struct{}

// Run prints the module's version, the revision it was built from where that is known, and what it was built with.
func (versionVerb) Run(*call) error {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	if _, err := fmt.Println(describe(info)); err != nil {
		return notPrinted(err)
	}
	return nil
}

func describe(info *debug.BuildInfo) string {
	version := info.Main.Version
	if version == "" {
		version = "(unknown)"
	}
	s := "holdfast " + version
	settings := map[string]string{}
	for _, setting := range info.Settings {
		settings[setting.Key] = setting.Value
	}
	if revision := settings["vcs.revision"]; revision != "" {
		s += ", revision " + revision
		if settings["vcs.modified"] == "true" {
			s += " with changes"
		}
	}
	return fmt.Sprintf("%s, %s, %s/%s", s, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
