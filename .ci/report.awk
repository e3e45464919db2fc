# Condenses the output of go test -v: each package's closing line, all that a failed test said, and one line per skipped
# test with its reason. Such a line also goes to the file named by the variable skips, after the variable section.

/^=== (RUN|CONT|NAME|PAUSE)/ { test = $3; next }

/^ *--- (PASS|FAIL|SKIP): / {
  if ($2 == "FAIL:") printf "%s\n%s", $0, said[$3]
  if ($2 == "SKIP:") {
    reason = said[$3]
    sub(/^ *[^ ]+:[0-9]+: /, "", reason)
    sub(/\n$/, "", reason)
    gsub(/\n */, " ", reason)
    print "skipped: " $3 ": " reason
    print section ": " $3 ": " reason >> skips
  }
  delete said[$3]
  test = ""
  next
}

/^(ok|\?|FAIL)[ \t]/ {
  if ($1 == "FAIL") for (test in said) printf "%s", said[test] # ended by a panic or a time-out, so never closed
  delete said
  test = ""
  print
  fflush()
  next
}

/^(PASS|FAIL)$/ { next }

test != "" { said[test] = said[test] $0 "\n"; next }

{ print; fflush() }
