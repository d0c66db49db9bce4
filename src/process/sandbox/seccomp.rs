//! seccomp: restricts what Landlock does not cover: sockets, file attributes, other processes, the state of the
//! system.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

/// From this version on, Landlock prevents files from being truncated.
const KNOWS_TRUNCATING: u32 = 3;
/// From this version on, Landlock keeps signals inside the sandbox.
const KNOWS_SIGNALS: u32 = 6;

/// The network, and every other socket: the kernel cannot distinguish the socket of a name service from that of a key
/// agent.
const SOCKETS: &[i64] = &[
    libc::SYS_socket,
    // Could open sockets without these calls.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

/// Owners, modes, times and extended attributes of files.
const ATTRIBUTES: &[i64] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    SYS_FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    SYS_SETXATTRAT,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    SYS_REMOVEXATTRAT,
    SYS_FILE_SETATTR,
];

#[cfg(target_arch = "x86_64")]
const OLD_ATTRIBUTES: &[i64] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
const OLD_ATTRIBUTES: &[i64] = &[];

/// Other processes, and shared resources.
const PROCESSES: &[i64] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
];

/// The system itself: as root, much of it would be possible.
const SYSTEM: &[i64] = &[
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_fanotify_init,
    libc::SYS_open_by_handle_at,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_syslog,
    libc::SYS_vhangup,
];

/// Signals, if Landlock cannot restrict them to the command's own processes. `timeout` cannot end its command then;
/// the time limit of the call does.
const SIGNALS: &[i64] = &[
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_tgkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_pidfd_send_signal,
];

// Newer than the library's list, with the same number on all architectures.
const SYS_FCHMODAT2: i64 = 452;
const SYS_SETXATTRAT: i64 = 463;
const SYS_REMOVEXATTRAT: i64 = 466;
const SYS_FILE_SETATTR: i64 = 469;

/// Restricts this thread permanently. `attributes` of files may be changed or not; `landlock` is the active version
/// of Landlock.
pub fn apply(attributes: bool, landlock: u32) -> io::Result<()> {
    for filter in compile(attributes, landlock).map_err(io::Error::other)? {
        seccompiler::apply_filter(&filter).map_err(io::Error::other)?;
    }
    Ok(())
}

fn compile(attributes: bool, landlock: u32) -> Result<Vec<BpfProgram>, seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    let mut refuse = |calls: &[i64]| {
        for call in calls {
            rules.insert(*call, Vec::new());
        }
    };
    refuse(SOCKETS);
    refuse(PROCESSES);
    refuse(SYSTEM);
    if !attributes {
        refuse(ATTRIBUTES);
        refuse(OLD_ATTRIBUTES);
    }
    if landlock < KNOWS_SIGNALS {
        refuse(SIGNALS);
    }
    let mut unknown = Vec::new();
    if landlock < KNOWS_TRUNCATING {
        refuse(&[libc::SYS_truncate]);
        rules.extend(truncating_opens()?);
        // Its flags cannot be checked. Programs fall back to the older call.
        unknown.push(libc::SYS_openat2);
    }
    // A process may change its own limits.
    let another = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, 0)?;
    rules.insert(libc::SYS_prlimit64, vec![SeccompRule::new(vec![another])?]);
    let mut filters = vec![filter(rules, libc::EACCES)?];
    if !unknown.is_empty() {
        let rules = unknown.into_iter().map(|call| (call, Vec::new())).collect();
        filters.push(filter(rules, libc::ENOSYS)?);
    }
    Ok(filters)
}

/// Opening a file with this flag can empty it even without write access.
fn truncating_opens() -> Result<Vec<(i64, Vec<SeccompRule>)>, seccompiler::BackendError> {
    let opens: &[(i64, u8)] = &[
        (libc::SYS_openat, 2),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_open, 1),
    ];
    let mask = u64::from((libc::O_ACCMODE | libc::O_TRUNC).unsigned_abs());
    let wanted = u64::from((libc::O_RDONLY | libc::O_TRUNC).unsigned_abs());
    opens
        .iter()
        .map(|&(call, flags)| {
            let empties = SeccompCondition::new(
                flags,
                SeccompCmpArgLen::Dword,
                SeccompCmpOp::MaskedEq(mask),
                wanted,
            )?;
            Ok((call, vec![SeccompRule::new(vec![empties])?]))
        })
        .collect()
}

fn filter(
    rules: BTreeMap<i64, Vec<SeccompRule>>,
    error: i32,
) -> Result<BpfProgram, seccompiler::BackendError> {
    #[cfg(target_arch = "x86_64")]
    let rules = with_x32(rules);
    let architecture: TargetArch = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(error.unsigned_abs()),
        architecture,
    )?
    .try_into()
}

/// The same calls have a second number in the x32 interface.
#[cfg(target_arch = "x86_64")]
fn with_x32(mut rules: BTreeMap<i64, Vec<SeccompRule>>) -> BTreeMap<i64, Vec<SeccompRule>> {
    const X32: i64 = 0x4000_0000;
    let second: Vec<_> = rules
        .iter()
        .map(|(call, rules)| (call | X32, rules.clone()))
        .collect();
    rules.extend(second);
    rules
}
