//! Every kind of thing that a user can name as an output, through the public functions.
//!
//! Device nodes are made in a temporary folder of the test's own, which takes root and a file system
//! that opens them; without these the trials are ignored.

use std::ffi::CString;
use std::fs::{self, File, Permissions};
use std::io::{self, Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use libtest_mimic::{Arguments, Failed, Trial};
use tempfile::{TempDir, tempdir};
use warpsmith_formats::{
    OutputError, OutputFile, check_distinct, check_inputs_kept, check_partial_vacant, check_vacant,
    is_stdout, write_new_private, write_output, write_output_durably,
};

/// Set in a child process, which then writes to the path that it holds.
const CHILD: &str = "WRITE_OUTPUT_TO";
/// Set in a child process, which begins to write to the path that it holds and waits to be killed.
const UNFINISHED: &str = "BEGIN_OUTPUT_TO";

type Outcome = Result<(), Failed>;

fn main() {
    if let Some(path) = std::env::var_os(CHILD) {
        write_output(Path::new(&path), b"from the child\n").unwrap();
        return;
    }
    if let Some(path) = std::env::var_os(UNFINISHED) {
        let mut file = OutputFile::create(Path::new(&path)).unwrap();
        file.write_all(&[b'n'; 1 << 20]).unwrap();
        io::stdout().write_all(b"begun\n").unwrap();
        thread::sleep(std::time::Duration::from_secs(600));
        return;
    }
    let root = is_root();
    let trial = |name: &str, run: fn() -> Outcome| Trial::test(name, run);
    let as_root = |name: &str, run: fn() -> Outcome| trial(name, run).with_ignored_flag(!root);
    let trials = vec![
        trial("a_new_file_has_what_the_umask_leaves", new_file_mode),
        trial("a_file_that_is_replaced_keeps_its_mode", kept_mode),
        trial("a_reader_of_the_old_file_keeps_it_whole", atomic),
        trial("an_output_that_is_not_finished_leaves_no_trace", dropped),
        trial("a_killed_process_leaves_no_trace", killed)
            .with_ignored_flag(!nameless_files_exist()),
        trial("names_of_one_file_stay_names_of_one_file", hard_links),
        as_root(
            "a_protected_file_with_other_names_is_an_error",
            hard_links_protected,
        ),
        trial("a_mount_point_is_overwritten_in_place", mount_point)
            .with_ignored_flag(!mounts_work()),
        trial("a_link_stays_and_its_target_is_written", link),
        trial("a_dangling_link_creates_its_target", dangling_link),
        trial("links_in_a_circle_are_an_error", link_circle),
        trial("a_fifo_is_written_in_place", fifo),
        trial("a_socket_is_written_in_place", socket),
        trial("a_descriptor_is_written_where_it_stands", descriptor),
        trial("a_descriptor_that_is_closed_is_an_error", closed_descriptor),
        trial("names_of_the_standard_output_append_to_it", standard_output),
        trial("a_folder_is_an_error_that_says_so", folder),
        trial("a_missing_folder_is_an_error_that_names_it", missing_folder),
        trial("a_file_is_no_folder", file_as_folder),
        trial("an_empty_name_is_an_error", empty_name),
        trial("a_new_file_is_never_written_over_another", new_over_old),
        trial("only_a_file_with_contents_is_in_the_way", vacant),
        trial("the_same_output_twice_is_found_under_any_name", same_twice),
        trial("an_input_is_no_output_under_any_name", inputs_kept),
        trial("a_partial_file_is_readable_until_it_is_finished", partial),
        trial("a_partial_file_stays_when_it_is_dropped", partial_dropped),
        trial("a_device_is_written_in_place", device).with_ignored_flag(!devices_open()),
        as_root("a_device_is_never_replaced", device_stays),
        as_root("a_file_that_is_replaced_keeps_its_owner", kept_owner),
        as_root(
            "an_unwritable_folder_is_an_error_that_names_it",
            closed_folder,
        ),
        as_root("another_users_file_is_overwritten_in_place", another_users),
        as_root(
            "another_users_protected_file_is_an_error",
            another_users_protected,
        ),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn is_root() -> bool {
    // SAFETY: takes nothing, touches nothing and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

fn folder_with(name: &str, contents: &str) -> (TempDir, PathBuf) {
    let folder = tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, contents).unwrap();
    (folder, path)
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// What a user reads: the error and its causes.
fn told(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", told(source)),
        None => error.to_string(),
    }
}

fn refusal(path: &Path) -> String {
    told(&write_output(path, b"new").unwrap_err())
}

/// Names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn make_node(path: &Path, kind: libc::mode_t, device: libc::dev_t) {
    let name = CString::new(path.as_os_str().as_bytes()).unwrap();
    // SAFETY: `name` ends with a zero byte and outlives the call.
    let made = unsafe { libc::mknod(name.as_ptr(), kind | 0o666, device) };
    assert_eq!(made, 0, "{}", io::Error::last_os_error());
}

fn new_file_mode() -> Outcome {
    let folder = tempdir()?;
    // What the system itself gives a new file.
    let plain = folder.path().join("plain");
    File::create(&plain)?;
    for (name, write) in [
        (
            "output",
            write_output as fn(&Path, &[u8]) -> Result<(), OutputError>,
        ),
        ("durable", write_output_durably),
    ] {
        let path = folder.path().join(name);
        write(&path, b"x")?;
        assert_eq!(mode(&path), mode(&plain), "{name}");
        assert_eq!(fs::read(&path)?, b"x");
    }
    let private = folder.path().join("private");
    write_new_private(&private, b"x")?;
    assert_eq!(mode(&private), 0o600);
    Ok(())
}

fn kept_mode() -> Outcome {
    for kept in [0o600, 0o640, 0o755, 0o444] {
        let (_folder, path) = folder_with("run.sh", "old");
        set_mode(&path, kept);
        write_output(&path, b"new")?;
        assert_eq!(
            (fs::read_to_string(&path)?, mode(&path)),
            ("new".into(), kept)
        );
    }
    Ok(())
}

fn atomic() -> Outcome {
    let (folder, path) = folder_with("report.json", "old");
    let mut reader = File::open(&path)?;
    let mut file = OutputFile::create(&path)?;
    file.write_all(&[b'n'; 1 << 20])?;
    assert_eq!(fs::read_to_string(&path)?, "old");
    file.finish()?;
    assert_eq!(fs::metadata(&path)?.len(), 1 << 20);
    let mut text = String::new();
    reader.read_to_string(&mut text)?;
    assert_eq!(text, "old");
    assert_eq!(names(folder.path()), ["report.json"]);
    Ok(())
}

fn dropped() -> Outcome {
    let (folder, path) = folder_with("report.json", "old");
    let mut file = OutputFile::create(&path)?;
    file.write_all(b"half of the n")?;
    drop(file);
    assert_eq!(fs::read_to_string(&path)?, "old");
    assert_eq!(names(folder.path()), ["report.json"]);
    Ok(())
}

/// Whether the temporary folder's file system has files without a name.
fn nameless_files_exist() -> bool {
    use std::os::unix::fs::OpenOptionsExt;
    let folder = tempdir().unwrap();
    let mut options = File::options();
    options.write(true).custom_flags(libc::O_TMPFILE);
    options.open(folder.path()).is_ok()
}

fn killed() -> Outcome {
    for name in ["report.json", "new.json"] {
        let (folder, _) = folder_with("report.json", "old");
        let mut child = Command::new(std::env::current_exe()?)
            .env(UNFINISHED, folder.path().join(name))
            .stdout(Stdio::piped())
            .spawn()?;
        let mut begun = [0; 5];
        child.stdout.take().unwrap().read_exact(&mut begun)?;
        assert_eq!(&begun, b"begun");
        child.kill()?;
        child.wait()?;
        assert_eq!(names(folder.path()), ["report.json"], "{name}");
        assert_eq!(fs::read(folder.path().join("report.json"))?, b"old");
    }
    Ok(())
}

fn hard_links() -> Outcome {
    for create in [OutputFile::create, OutputFile::create_partial] {
        let (folder, path) = folder_with("report.json", "an old text that is longer");
        let other = folder.path().join("shared.json");
        fs::hard_link(&path, &other)?;
        let mut file = create(&path)?;
        file.write_all(b"new")?;
        file.flush()?;
        assert_eq!(fs::read_to_string(&other)?, "an old text that is longer");
        file.finish_durably()?;
        assert_eq!(fs::read_to_string(&other)?, "new");
        assert_eq!(fs::metadata(&path)?.nlink(), 2);
        assert_eq!(names(folder.path()), ["report.json", "shared.json"]);
    }
    Ok(())
}

fn hard_links_protected() -> Outcome {
    let (folder, path) = folder_with("ours", "old");
    set_mode(folder.path(), 0o777);
    fs::hard_link(&path, folder.path().join("other"))?;
    chown(&path, Some(OTHER), Some(OTHER))?;
    set_mode(&path, 0o444);
    let text = write_as_other(&path).unwrap_err();
    assert!(text.contains("HardLinks(2)"), "{text}");
    assert_eq!(fs::read_to_string(&path)?, "old");
    assert_eq!(names(folder.path()), ["other", "ours"]);
    Ok(())
}

/// Whether a process may have mounts of its own.
fn mounts_work() -> bool {
    let tried = in_own_mounts("mount --bind /proc/version /proc/version").output();
    tried.is_ok_and(|output| output.status.success())
}

/// A line for the shell whose mounts nobody else sees.
fn in_own_mounts(line: &str) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private"]);
    if !is_root() {
        command.arg("--map-root-user");
    }
    command.args(["sh", "-ec", line]);
    command
}

/// As in a container that gets a file from its host.
fn mount_point() -> Outcome {
    let (folder, path) = folder_with("report.json", "what the mount hides");
    let source = folder.path().join("source.json");
    fs::write(&source, "an old text that is longer than the new one")?;
    let ended = in_own_mounts("mount --bind \"$SOURCE\" \"$WRITE_OUTPUT_TO\"; exec \"$PROGRAM\"")
        .env("SOURCE", &source)
        .env(CHILD, &path)
        .env("PROGRAM", std::env::current_exe()?)
        .output()?;
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{said}");
    assert_eq!(fs::read_to_string(&source)?, "from the child\n");
    assert_eq!(fs::read_to_string(&path)?, "what the mount hides");
    assert_eq!(names(folder.path()), ["report.json", "source.json"]);
    Ok(())
}

fn link() -> Outcome {
    let (folder, target) = folder_with("target", "old");
    set_mode(&target, 0o640);
    let (link, second) = (folder.path().join("link"), folder.path().join("second"));
    symlink("target", &link)?;
    symlink(&link, &second)?;
    write_output(&second, b"new")?;
    assert!(fs::symlink_metadata(&link)?.is_symlink());
    assert!(fs::symlink_metadata(&second)?.is_symlink());
    assert_eq!(
        (fs::read_to_string(&target)?, mode(&target)),
        ("new".into(), 0o640)
    );
    Ok(())
}

fn dangling_link() -> Outcome {
    let folder = tempdir()?;
    fs::create_dir(folder.path().join("below"))?;
    let link = folder.path().join("link");
    symlink("below/target", &link)?;
    write_output(&link, b"new")?;
    assert!(fs::symlink_metadata(&link)?.is_symlink());
    assert_eq!(fs::read(folder.path().join("below/target"))?, b"new");
    Ok(())
}

fn link_circle() -> Outcome {
    let folder = tempdir()?;
    let (one, two) = (folder.path().join("one"), folder.path().join("two"));
    symlink(&two, &one)?;
    symlink(&one, &two)?;
    assert!(
        refusal(&one).contains("symbolic links"),
        "{}",
        refusal(&one)
    );
    Ok(())
}

fn fifo() -> Outcome {
    let folder = tempdir()?;
    let path = folder.path().join("pipe");
    make_node(&path, libc::S_IFIFO, 0);
    let reader = {
        let path = path.clone();
        thread::spawn(move || fs::read_to_string(path))
    };
    write_output_durably(&path, b"through the pipe")?;
    assert_eq!(reader.join().unwrap()?, "through the pipe");
    assert!(fs::symlink_metadata(&path)?.file_type().is_fifo());
    assert_eq!(names(folder.path()), ["pipe"]);
    Ok(())
}

fn socket() -> Outcome {
    let folder = tempdir()?;
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path)?;
    let reader = thread::spawn(move || {
        let mut text = String::new();
        let (mut stream, _) = listener.accept()?;
        stream.read_to_string(&mut text).map(|_| text)
    });
    write_output(&path, b"to the socket")?;
    assert_eq!(reader.join().unwrap()?, "to the socket");
    assert!(fs::symlink_metadata(&path)?.file_type().is_socket());
    Ok(())
}

fn descriptor() -> Outcome {
    let (folder, path) = folder_with("log", "before, ");
    let mut open = File::options().read(true).write(true).open(&path)?;
    open.seek(io::SeekFrom::End(0))?;
    let number = open.as_raw_fd();
    write_output(Path::new(&format!("/dev/fd/{number}")), b"one, ")?;
    write_output(Path::new(&format!("/proc/self/fd/{number}")), b"two")?;
    open.write_all(b", after")?;
    assert_eq!(fs::read_to_string(&path)?, "before, one, two, after");
    assert_eq!(names(folder.path()), ["log"]);
    Ok(())
}

fn closed_descriptor() -> Outcome {
    assert!(refusal(Path::new("/dev/fd/1000000")).contains("cannot write `/dev/fd/1000000`: "));
    Ok(())
}

fn standard_output() -> Outcome {
    for path in ["-", "/dev/stdout", "/dev/fd/1"] {
        let (folder, log) = folder_with("log", "before\n");
        let open = File::options().append(true).open(&log)?;
        let status = Command::new(std::env::current_exe()?)
            .env(CHILD, path)
            .current_dir(folder.path())
            .stdout(Stdio::from(open))
            .status()?;
        assert!(status.success());
        assert_eq!(
            fs::read_to_string(&log)?,
            "before\nfrom the child\n",
            "{path}"
        );
        assert_eq!(names(folder.path()), ["log"]);
    }
    Ok(())
}

fn folder() -> Outcome {
    let folder = tempdir()?;
    for path in [folder.path().to_owned(), folder.path().join(".")] {
        let text = refusal(&path);
        assert!(text.contains("it is a folder; name a file in it"), "{text}");
        assert!(text.contains(&format!("`{}`", path.display())), "{text}");
    }
    let text = refusal(&folder.path().join("results/"));
    assert!(
        text.contains("does not exist; create it with `mkdir -p"),
        "{text}"
    );
    assert!(names(folder.path()).is_empty());
    Ok(())
}

fn missing_folder() -> Outcome {
    let folder = tempdir()?;
    let text = refusal(&folder.path().join("a/b/report.json"));
    let missing = folder.path().join("a/b");
    let told = format!(
        "the folder `{0}` does not exist; create it with `mkdir -p {0}`",
        missing.display()
    );
    assert!(
        text.starts_with("cannot write `") && text.ends_with(&told),
        "{text}"
    );
    Ok(())
}

fn file_as_folder() -> Outcome {
    let (_folder, file) = folder_with("file", "old");
    let text = refusal(&file.join("report.json"));
    assert!(
        text.ends_with(&format!("`{}` is not a folder", file.display())),
        "{text}"
    );
    assert_eq!(fs::read_to_string(&file)?, "old");
    Ok(())
}

fn empty_name() -> Outcome {
    assert!(refusal(Path::new("")).contains("use `-` for the standard output"));
    Ok(())
}

fn new_over_old() -> Outcome {
    let (folder, path) = folder_with("journal", "old");
    let link = folder.path().join("link");
    symlink("nowhere", &link)?;
    for path in [&path, &link] {
        let error = io::Error::from(write_new_private(path, b"new").unwrap_err());
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    }
    assert_eq!(fs::read_to_string(&path)?, "old");
    assert_eq!(names(folder.path()), ["journal", "link"]);
    Ok(())
}

fn vacant() -> Outcome {
    let (folder, path) = folder_with("run.wsrec", "old");
    let link = folder.path().join("link");
    symlink("run.wsrec", &link)?;
    for path in [&path, &link] {
        let text = told(&check_vacant(path).unwrap_err());
        assert!(text.ends_with("it exists; `--force` replaces it"), "{text}");
    }
    let (empty, pipe) = (folder.path().join("empty"), folder.path().join("pipe"));
    File::create(&empty)?;
    make_node(&pipe, libc::S_IFIFO, 0);
    for path in [&empty, &pipe, &folder.path().join("none"), Path::new("-")] {
        check_vacant(path)?;
    }
    Ok(())
}

fn same_twice() -> Outcome {
    let folder = tempdir()?;
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("below"))?;
    symlink("below", at("alias"))?;
    symlink("page.html", at("link"))?;
    let same = |one: &Path, two: &Path| check_distinct(&[("--html", one), ("--csv", two)]);
    for (one, two) in [
        ("page.html", "page.html"),
        ("page.html", "./page.html"),
        ("page.html", "below/../page.html"),
        ("page.html", "link"),
        ("below/x", "alias/x"),
        ("missing/x", "missing/../missing/./x"),
    ] {
        let text = same(&at(one), &at(two)).unwrap_err().to_string();
        assert!(
            text.starts_with("`--html` and `--csv` both write `"),
            "{text}"
        );
    }
    assert!(same(Path::new("-"), Path::new("/dev/stdout")).is_err());
    assert!(is_stdout(Path::new("-")) && is_stdout(Path::new("/dev/stdout")));
    assert!(!is_stdout(&at("page.html")) && !is_stdout(Path::new("/dev/stderr")));
    assert!(same(Path::new("out.csv"), Path::new("./out.csv")).is_err());
    for (one, two) in [
        ("page.html", "page.csv"),
        ("below/x", "x"),
        ("missing/x", "x"),
    ] {
        same(&at(one), &at(two))?;
    }
    assert!(names(&at("below")).is_empty());
    Ok(())
}

fn inputs_kept() -> Outcome {
    let folder = tempdir()?;
    let at = |name: &str| folder.path().join(name);
    let input = at("take.wav");
    fs::write(&input, "sound")?;
    symlink("take.wav", at("link"))?;
    fs::hard_link(&input, at("other"))?;
    fs::write(at("same bytes"), "sound")?;
    let check = |output: &Path| check_inputs_kept(&[&input], &[("--output", output)]);
    for lost in ["take.wav", "./take.wav", "link", "other"] {
        assert_eq!(
            check(&at(lost)).unwrap_err().to_string(),
            format!(
                "`{}` would be overwritten with its own result; choose another `--output`",
                input.display()
            )
        );
    }
    for kept in ["same bytes", "new", ""] {
        check(&at(kept))?;
    }
    check(Path::new("-"))?;
    // What is written in place is not replaced: a pipe may be read and written.
    check_inputs_kept(
        &[Path::new("/dev/null")],
        &[("--output", Path::new("/dev/null"))],
    )?;
    assert_eq!(fs::read_to_string(&input)?, "sound");
    Ok(())
}

fn partial() -> Outcome {
    let (folder, path) = folder_with("run.wsrec", "old");
    set_mode(&path, 0o640);
    let partial = folder.path().join("run.wsrec.partial");
    let mut file = OutputFile::create_partial(&path)?;
    file.write_all(b"block")?;
    file.flush()?;
    assert_eq!(fs::read(&partial)?, b"block");
    assert_eq!(fs::read(&path)?, b"old");
    file.finish_durably()?;
    assert_eq!(
        (fs::read_to_string(&path)?, mode(&path)),
        ("block".into(), 0o640)
    );
    assert_eq!(names(folder.path()), ["run.wsrec"]);
    Ok(())
}

fn partial_dropped() -> Outcome {
    let folder = tempdir()?;
    let mut file = OutputFile::create_partial(&folder.path().join("run.wsrec"))?;
    file.write_all(b"block")?;
    drop(file);
    assert_eq!(names(folder.path()), ["run.wsrec.partial"]);
    let text = told(&check_partial_vacant(&folder.path().join("run.wsrec")).unwrap_err());
    assert!(text.contains("run.wsrec.partial`: it exists"), "{text}");
    assert_eq!(fs::read(folder.path().join("run.wsrec.partial"))?, b"block");
    let error = OutputFile::create_partial(&folder.path().join("none/run")).unwrap_err();
    assert!(
        told(&error).contains("none/run.partial`"),
        "{}",
        told(&error)
    );
    Ok(())
}

/// Whether a device node of our own can be opened: containers and `nodev` mounts let root make one and
/// nobody open it.
fn devices_open() -> bool {
    let folder = tempdir().unwrap();
    let null = folder.path().join("null");
    is_root() && {
        make_node(&null, libc::S_IFCHR, NULL);
        File::options().write(true).open(null).is_ok()
    }
}

const NULL: libc::dev_t = libc::makedev(1, 3);
const FULL: libc::dev_t = libc::makedev(1, 7);

fn device() -> Outcome {
    let folder = tempdir()?;
    let (null, full) = (folder.path().join("null"), folder.path().join("full"));
    make_node(&null, libc::S_IFCHR, NULL);
    make_node(&full, libc::S_IFCHR, FULL);
    let link = folder.path().join("link");
    symlink("null", &link)?;
    for path in [&null, &link] {
        write_output_durably(path, b"nothing of this stays")?;
        let mut partial = OutputFile::create_partial(path)?;
        partial.write_all(b"nor of this")?;
        partial.finish()?;
    }
    let text = refusal(&full);
    assert!(text.contains("No space left on device"), "{text}");
    for path in [&null, &full] {
        assert!(fs::symlink_metadata(path)?.file_type().is_char_device());
    }
    assert_eq!(names(folder.path()), ["full", "link", "null"]);
    Ok(())
}

/// Whether it can be opened or not, the node is there afterwards.
fn device_stays() -> Outcome {
    let folder = tempdir()?;
    let null = folder.path().join("null");
    make_node(&null, libc::S_IFCHR, NULL);
    let written = write_output(&null, b"new");
    assert_eq!(written.is_ok(), devices_open(), "{written:?}");
    assert!(fs::symlink_metadata(&null)?.file_type().is_char_device());
    assert_eq!(names(folder.path()), ["null"]);
    Ok(())
}

/// A user and a group that are not root's; nothing needs to be theirs.
const OTHER: u32 = 12_345;

fn kept_owner() -> Outcome {
    let (_folder, path) = folder_with("theirs", "old");
    chown(&path, Some(OTHER), Some(OTHER + 1))?;
    set_mode(&path, 0o4750);
    write_output(&path, b"new")?;
    let facts = fs::metadata(&path)?;
    assert_eq!((facts.uid(), facts.gid()), (OTHER, OTHER + 1));
    assert_eq!(
        (fs::read_to_string(&path)?, mode(&path)),
        ("new".into(), 0o4750)
    );
    Ok(())
}

/// The same program as `OTHER`, who writes to `path`; what it said where it failed.
fn write_as_other(path: &Path) -> Result<(), String> {
    use std::os::unix::process::CommandExt;
    // A copy: the folder of the build may be closed to others.
    let folder = tempdir().unwrap();
    set_mode(folder.path(), 0o755);
    let program = folder.path().join("program");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    set_mode(&program, 0o755);
    let start = || {
        Command::new(&program)
            .env(CHILD, path)
            .current_dir("/")
            .uid(OTHER)
            .gid(OTHER)
            .output()
    };
    let output = loop {
        match start() {
            // A process that another test starts meanwhile holds the copy open until it is what it becomes.
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => thread::yield_now(),
            started => break started.unwrap(),
        }
    };
    if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

fn closed_folder() -> Outcome {
    let (folder, path) = folder_with("ours", "old");
    set_mode(folder.path(), 0o755);
    let text = write_as_other(&folder.path().join("new")).unwrap_err();
    assert!(text.contains("ClosedFolder"), "{text}");
    assert_eq!(fs::read_to_string(&path)?, "old");
    assert_eq!(names(folder.path()), ["ours"]);
    Ok(())
}

fn another_users() -> Outcome {
    let (folder, path) = folder_with("ours", "an old text that is longer than the new one");
    set_mode(folder.path(), 0o777);
    set_mode(&path, 0o666);
    write_as_other(&path)?;
    let facts = fs::metadata(&path)?;
    assert_eq!((facts.uid(), facts.gid(), mode(&path)), (0, 0, 0o666));
    assert_eq!(fs::read_to_string(&path)?, "from the child\n");
    assert_eq!(names(folder.path()), ["ours"]);
    Ok(())
}

fn another_users_protected() -> Outcome {
    let (folder, path) = folder_with("ours", "old");
    set_mode(folder.path(), 0o777);
    set_mode(&path, 0o644);
    let text = write_as_other(&path).unwrap_err();
    assert!(text.contains("AnotherUsers"), "{text}");
    assert_eq!(fs::read_to_string(&path)?, "old");
    assert_eq!(names(folder.path()), ["ours"]);
    Ok(())
}
