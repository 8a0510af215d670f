// platform-sandbox starts a program that can open nothing but what it is given.
//
//	platform-sandbox run [--read PATH | --write PATH]... -- PROGRAM [ARGUMENT...]
//	platform-sandbox probe
//
// run gives up all rights on files but those below the paths named, for good and for all children, and becomes PROGRAM: same
// process, same descriptors, same environment. --read is reading and executing; --write is that, and writing, making and
// removing files and folders. A path to read that cannot be opened, for whatever reason, is passed over: it gives nothing to
// PROGRAM, which may well go on without it, as Node does without its NODE_EXTRA_CA_CERTS. Links are followed when the rules
// are made. PROGRAM is a path. Without all the rest in force nothing is started: exit code 126, and a line on stderr.
//
// probe tries the same on itself. It prints the version of Landlock's interface (ABI) and ends with 0, or says on stderr what
// is missing and ends with 1.
//
// Of the kernel it takes Landlock (landlock(7); the numbers are those of linux/landlock.h, Linux 6.12), and one rule of
// seccomp(2). It needs no privileges, and no library beside Go's own.
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

// The same number on every architecture (asm-generic/unistd.h).
const (
	createRuleset = 444
	addRule       = 445
	restrictSelf  = 446
)

const (
	execute    = 1 << 0
	writeFile  = 1 << 1
	readFile   = 1 << 2
	readDir    = 1 << 3
	removeDir  = 1 << 4
	removeFile = 1 << 5
	makeDir    = 1 << 7
	makeReg    = 1 << 8
	refer      = 1 << 13
	truncate   = 1 << 14
	ioctlDev   = 1 << 15

	reading = execute | readFile | readDir
	// No links, sockets, pipes or devices: whoever reads these folders afterwards, without a sandbox, follows none.
	writing = reading | writeFile | removeDir | removeFile | makeDir | makeReg | refer | truncate
	// What can be said of a file that is no folder.
	ofFiles = execute | writeFile | readFile | truncate | ioctlDev
)

// What a version of the interface knows; each knows what the one before does. Version 4 is about the network, which is
// not restricted.
func handled(abi int) (files, scopes uint64) {
	files = 1<<13 - 1
	if abi >= 2 {
		files |= refer
	}
	if abi >= 3 {
		files |= truncate
	}
	if abi >= 5 {
		files |= ioctlDev
	}
	if abi >= 6 {
		// Abstract Unix sockets of others, and signals to others.
		scopes = 1<<0 | 1<<1
	}
	return files, scopes
}

type grant struct {
	path   string
	rights uint64
}

func landlockVersion() (int, error) {
	abi, _, errno := syscall.Syscall(createRuleset, 0, 0, 1)
	switch errno {
	case 0:
		return int(abi), nil
	case syscall.ENOSYS:
		return 0, errors.New("this kernel has no Landlock, or a seccomp profile hides it")
	case syscall.EOPNOTSUPP:
		return 0, errors.New("Landlock is not among the security modules this kernel was started with")
	default:
		return 0, fmt.Errorf("Landlock cannot be asked for its version: %w", errno)
	}
}

func allow(ruleset uintptr, each grant, known uint64) error {
	fd, err := syscall.Open(each.path, 0x200000 /* O_PATH */ |syscall.O_CLOEXEC, 0)
	if err != nil {
		if each.rights == reading {
			return nil
		}
		return fmt.Errorf("%s: %w", each.path, err)
	}
	defer syscall.Close(fd)
	var stat syscall.Stat_t
	if err := syscall.Fstat(fd, &stat); err != nil {
		return fmt.Errorf("%s: %w", each.path, err)
	}
	rights := each.rights & known
	if stat.Mode&syscall.S_IFMT != syscall.S_IFDIR {
		rights &= ofFiles
	}
	// struct landlock_path_beneath_attr, packed: __u64 allowed_access; __s32 parent_fd.
	var rule [12]byte
	*(*uint64)(unsafe.Pointer(&rule[0])) = rights
	*(*int32)(unsafe.Pointer(&rule[8])) = int32(fd)
	if _, _, errno := syscall.Syscall6(addRule, ruleset, 1, uintptr(unsafe.Pointer(&rule[0])), 0, 0, 0); errno != 0 {
		return fmt.Errorf("no rule for %s: %w", each.path, errno)
	}
	return nil
}

// Of this thread, and of what it becomes: whoever calls stays on it until then.
func confine(grants []grant) (int, error) {
	abi, err := landlockVersion()
	if err != nil {
		return 0, err
	}
	files, scopes := handled(abi)
	// struct landlock_ruleset_attr: handled_access_fs, handled_access_net, scoped. An older kernel takes a longer one
	// whose end is 0.
	attributes := [3]uint64{files, 0, scopes}
	ruleset, _, errno := syscall.Syscall(createRuleset, uintptr(unsafe.Pointer(&attributes)), unsafe.Sizeof(attributes), 0)
	if errno != 0 {
		return 0, fmt.Errorf("no Landlock ruleset: %w", errno)
	}
	defer syscall.Close(int(ruleset))
	for _, each := range grants {
		if err := allow(ruleset, each, files); err != nil {
			return 0, err
		}
	}
	const setNoNewPrivileges = 38
	if _, _, errno := syscall.Syscall6(syscall.SYS_PRCTL, setNoNewPrivileges, 1, 0, 0, 0, 0); errno != 0 {
		return 0, fmt.Errorf("no_new_privs cannot be set: %w", errno)
	}
	if _, _, errno := syscall.Syscall(restrictSelf, ruleset, 0, 0); errno != 0 {
		return 0, fmt.Errorf("Landlock cannot be put in force: %w", errno)
	}
	return abi, staySession()
}

// Nobody leaves the session, by which the operator finds and ends all processes of an operation. A system call of another
// architecture, which could go by another number, is none.
func staySession() error {
	audit := map[string]uint32{"amd64": 0xc000003e, "arm64": 0xc00000b7}[runtime.GOARCH]
	if audit == 0 {
		return fmt.Errorf("no seccomp filter is known for %s", runtime.GOARCH)
	}
	const (
		load   = 0x20 // BPF_LD|BPF_W|BPF_ABS
		equals = 0x15 // BPF_JMP|BPF_JEQ|BPF_K
		least  = 0x35 // BPF_JMP|BPF_JGE|BPF_K
		answer = 0x06 // BPF_RET|BPF_K

		allowed = 0x7fff0000 // SECCOMP_RET_ALLOW
		failing = 0x00050000 // SECCOMP_RET_ERRNO
	)
	type instruction struct {
		code   uint16
		jt, jf uint8
		k      uint32
	}
	filter := []instruction{
		{load, 0, 0, 4}, // seccomp_data.arch
		{equals, 1, 0, audit},
		{answer, 0, 0, failing | uint32(syscall.ENOSYS)},
		{load, 0, 0, 0},           // seccomp_data.nr
		{least, 0, 1, 0x40000000}, // x32
		{answer, 0, 0, failing | uint32(syscall.ENOSYS)},
		{equals, 0, 1, syscall.SYS_SETSID},
		{answer, 0, 0, failing | uint32(syscall.EPERM)},
		{answer, 0, 0, allowed},
	}
	program := struct {
		length uint16
		filter *instruction
	}{uint16(len(filter)), &filter[0]}
	const setSeccomp, modeFilter = 22, 2
	_, _, errno := syscall.Syscall6(syscall.SYS_PRCTL, setSeccomp, modeFilter, uintptr(unsafe.Pointer(&program)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("no seccomp filter: %w", errno)
	}
	return nil
}

func probe() error {
	abi, err := confine(nil)
	if err != nil {
		return err
	}
	// A kernel that takes the calls and does nothing would be worse than none.
	if fd, err := syscall.Open("/", syscall.O_RDONLY|syscall.O_CLOEXEC, 0); !errors.Is(err, syscall.EACCES) {
		if err == nil {
			syscall.Close(fd)
		}
		return errors.New("Landlock is in force and keeps nothing away")
	}
	fmt.Println(abi)
	return nil
}

func run(arguments []string) error {
	grants := []grant{}
	for len(arguments) >= 2 && arguments[0] != "--" {
		switch arguments[0] {
		case "--read":
			grants = append(grants, grant{arguments[1], reading})
		case "--write":
			grants = append(grants, grant{arguments[1], writing})
		default:
			return fmt.Errorf("what is %s", arguments[0])
		}
		arguments = arguments[2:]
	}
	if len(arguments) < 2 || arguments[0] != "--" {
		return errors.New("no program was named")
	}
	for _, device := range []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"} {
		grants = append(grants, grant{device, readFile | writeFile | truncate | ioctlDev})
	}
	if _, err := confine(grants); err != nil {
		return err
	}
	program := arguments[1]
	return fmt.Errorf("%s: %w", program, syscall.Exec(program, arguments[1:], os.Environ()))
}

func main() {
	// The rules are this thread's, and the thread that calls execve(2) is the one that is left.
	runtime.LockOSThread()
	err, code := errors.New("usage: platform-sandbox probe | run [--read PATH | --write PATH]... -- PROGRAM [ARGUMENT...]"), 2
	if len(os.Args) == 2 && os.Args[1] == "probe" {
		err, code = probe(), 1
	} else if len(os.Args) > 2 && os.Args[1] == "run" {
		err, code = run(os.Args[2:]), 126
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "platform-sandbox: %v\n", err)
		os.Exit(code)
	}
}
