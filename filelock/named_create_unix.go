//go:build unix

package filelock

import "fmt"

// create makes the file whole: when it gets its name it has its group and its mode. Only where the system can neither name an
// unnamed file nor rename without replacing does it get them afterwards; a kill in between leaves a file that does not fit,
// and that its maker has to remove.
func (m namedFiles) create(dir namedDir, p namedPlace) error {
	if file, err := dir.createUnnamed(p.perm); err == nil {
		defer file.Close()
		if err := p.prepare(file); err != nil {
			return err
		}
		if err = dir.linkUnnamed(file, p.name); err == nil || final(err) {
			return err
		}
	}
	var random [6]byte
	m.sys.random(random[:])
	temp := fmt.Sprintf("holdfast-%x.tmp", random)
	if err := p.createAs(dir, temp); err != nil {
		return err
	}
	err := dir.moveNew(temp, p.name)
	if err == nil {
		return nil
	}
	_ = dir.remove(temp)
	if final(err) {
		return err
	}
	return p.createAs(dir, p.name)
}

// createAs makes the file under a name that does not exist; if it cannot be made to fit, nothing is left of it.
func (p namedPlace) createAs(dir namedDir, name string) error {
	file, err := dir.createNew(name, p.perm)
	if err != nil {
		return err
	}
	defer file.Close()
	if err = p.prepare(file); err != nil {
		_ = dir.remove(name)
	}
	return err
}

// prepare gives a file of ours its group, and then its mode, whatever the umask.
func (p namedPlace) prepare(file namedFile) error {
	if g := p.group; g != nil {
		if err := file.SetGroup(*g); err != nil {
			return fmt.Errorf("%w: root or a member of group %d has to make this first", err, *g)
		}
	}
	return file.Chmod(p.perm)
}
