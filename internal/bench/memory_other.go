//go:build !linux

package main

import "errors"

var errNoMemory = errors.New("the memory of another process is measured on Linux only")

func residentMemory(int) (now, peak int64, err error) { return 0, 0, errNoMemory }

func forgetPeak(int) error { return errNoMemory }
