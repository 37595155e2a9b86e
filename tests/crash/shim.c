/* A library to be preloaded: it counts the calls that touch a file below one folder, and disturbs one.
 *
 * All processes of a run share one struct control in a mapped file (CRASH_CONTROL). A process takes part once
 * crash_begin() was called in it, or when CRASH_ACTIVE is set as it starts (workers). A call is of interest when
 * its path, or that of its descriptor, begins with control->root; besides, what multiprocessing keeps in /dev/shm,
 * its semaphores and pipes. Calls are known by the names that Python and SQLite import from the C library;
 * test_shim.py compares the count with that of strace.
 *
 * CRASH_LOG names a file of records, one for each call of interest, and for those that change or synchronise
 * something one more with all that is needed to do it again (power.py).
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { COUNT, FAIL_ONCE, FAIL_FROM_NOW, SHORT_WRITE, KILL_BEFORE, KILL_AFTER, SIGNAL };

struct control {           /* Control in control.py */
    int32_t kind;
    int32_t number;        /* errno, or the signal */
    int32_t leader;        /* the process that signals are sent to */
    int32_t unused;
    int64_t at;            /* the call that is disturbed, from 1 */
    _Atomic int64_t count; /* calls of interest so far */
    _Atomic int32_t fired; /* whether that call has come */
    int32_t process;       /* that made it */
    char operation[32];
    char path[1024];
    char root[256];
};

static struct control *control;
static int is_begun, owner, log_file = -1;

/* Not so in a child of vfork, which shares this process's memory until it is another program. */
static int is_active(void) { return is_begun && getpid() == owner; }

static void own(void) { owner = getpid(); }

#define DESCRIPTORS 4096
static char *paths[DESCRIPTORS]; /* of descriptors of interest */

void crash_begin(void);

__attribute__((constructor)) static void start(void) {
    const char *name = getenv("CRASH_CONTROL");
    if (!name) return;
    int file = syscall(SYS_openat, AT_FDCWD, name, O_RDWR | O_CLOEXEC);
    if (file < 0) return;
    void *map = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    syscall(SYS_close, file);
    if (map == MAP_FAILED) return;
    control = map;
    pthread_atfork(NULL, NULL, own);
    if (getenv("CRASH_ACTIVE")) crash_begin();
}

/* Take part from now on. */
void crash_begin(void) {
    const char *name = getenv("CRASH_LOG");
    if (name && log_file < 0) {
        int file = syscall(SYS_openat, AT_FDCWD, name, O_WRONLY | O_CREAT | O_APPEND, 0644);
        log_file = syscall(SYS_fcntl, file, F_DUPFD_CLOEXEC, 900);
        syscall(SYS_close, file);
    }
    own();
    is_begun = control != NULL;
}

/* Take part no longer. */
void crash_end(void) { is_begun = 0; }

/* ---- paths and descriptors ---------------------------------------------------------------------------------- */

static const char *whole(int folder, const char *path, char *into) {
    if (!is_active() || !path) return NULL;
    if (path[0] == '/') {
        snprintf(into, PATH_MAX, "%s", path);
    } else if (folder == AT_FDCWD) {
        if (syscall(SYS_getcwd, into, PATH_MAX) <= 0) return NULL;
        size_t length = strlen(into);
        snprintf(into + length, PATH_MAX - length, "/%s", path);
    } else if (folder >= 0 && folder < DESCRIPTORS && paths[folder]) {
        snprintf(into, PATH_MAX, path[0] ? "%s/%s" : "%s", paths[folder], path);
    } else {
        return NULL;
    }
    size_t length = strlen(control->root);
    if (!strncmp(into, control->root, length) && (into[length] == '/' || !into[length])) return into;
    return strncmp(into, "/dev/shm/pym-", 13) ? NULL : into;
}

static const char *of(int file) {
    return is_active() && file >= 0 && file < DESCRIPTORS ? paths[file] : NULL;
}

static void name(int file, const char *path) {
    if (file < 0 || file >= DESCRIPTORS || !is_active()) return;
    char *before = paths[file];
    paths[file] = path ? strdup(path) : NULL;
    free(before);
}

/* ---- counting and disturbing ---------------------------------------------------------------------------------- */

static void record(const char *head, const void *data, size_t size) {
    if (log_file < 0) return;
    struct iovec both[] = {{(void *)head, strlen(head)}, {(void *)data, size}};
    syscall(SYS_writev, log_file, both, 2);
}

static void kill_self(void) {
    syscall(SYS_kill, getpid(), SIGKILL);
    for (;;) pause();
}

enum result { GO_ON, FAIL, SHORTEN, DIE_AFTERWARDS };

/* Count a call of interest, and say what is to become of it. */
static enum result met(const char *operation, const char *path) {
    if (!path || !control) return GO_ON;
    int64_t now = atomic_fetch_add(&control->count, 1) + 1;
    if (log_file >= 0) {
        char line[PATH_MAX + 64];
        snprintf(line, sizeof line, "call\t%s\t%s\n", operation, path);
        record(line, NULL, 0);
    }
    if (control->kind == COUNT || now < control->at) return GO_ON;
    if (now > control->at && control->kind != FAIL_FROM_NOW) return GO_ON;
    if (now == control->at) {
        control->process = getpid();
        snprintf(control->operation, sizeof control->operation, "%s", operation);
        snprintf(control->path, sizeof control->path, "%s", path);
        atomic_store(&control->fired, 1);
    }
    switch (control->kind) {
    case FAIL_ONCE:
    case FAIL_FROM_NOW: errno = control->number; return FAIL;
    case SHORT_WRITE: return SHORTEN;
    case KILL_BEFORE: kill_self(); return GO_ON;
    case KILL_AFTER: return DIE_AFTERWARDS;
    case SIGNAL: syscall(SYS_kill, control->leader, control->number); return GO_ON;
    default: return GO_ON;
    }
}

static void after(enum result result) {
    if (result == DIE_AFTERWARDS) kill_self();
}

#define REAL(function)                                                                                              \
    static __typeof__(&function) real;                                                                               \
    if (!real) real = (__typeof__(&function))dlsym(RTLD_NEXT, #function)

/* ---- what power.py does again ----------------------------------------------------------------------------------- */

static long inode(int file) {
    struct stat found;
    return syscall(SYS_fstat, file, &found) ? -1 : (long)found.st_ino;
}

static long inode_at(const char *path) {
    struct stat found;
    return syscall(SYS_newfstatat, AT_FDCWD, path, &found, AT_SYMLINK_NOFOLLOW) ? -1 : (long)found.st_ino;
}

static void changed(const char *what, long file, const char *one, const char *other) {
    if (log_file < 0) return;
    char line[2 * PATH_MAX + 64];
    snprintf(line, sizeof line, "%s\t%ld\t%s\t%s\n", what, file, one ? one : "", other ? other : "");
    record(line, NULL, 0);
}

static void written(int file, off_t offset, const struct iovec *blocks, int count, ssize_t size) {
    if (log_file < 0 || size <= 0) return;
    char head[96], *data = malloc(size), *to = data;
    size_t left = size;
    for (int i = 0; i < count && left; i++) {
        size_t some = blocks[i].iov_len < left ? blocks[i].iov_len : left;
        memcpy(to, blocks[i].iov_base, some);
        to += some, left -= some;
    }
    snprintf(head, sizeof head, "write\t%ld\t%ld\t%zd\n", inode(file), (long)offset, size);
    record(head, data, size);
    free(data);
}

/* Where the next write goes: files are written from several places, and some only at their end. */
static off_t position(int file) {
    if (log_file < 0) return 0;
    struct stat found;
    if (syscall(SYS_fcntl, file, F_GETFL) & O_APPEND) return syscall(SYS_fstat, file, &found) ? 0 : found.st_size;
    return syscall(SYS_lseek, file, 0, SEEK_CUR);
}

/* ---- open and close ------------------------------------------------------------------------------------------------ */

static int opened(const char *path, int flags, int was_there, int file) {
    name(file, path);
    if (file >= 0 && path && log_file >= 0) {
        if (!was_there) changed("create", inode(file), path, NULL);
        else if (flags & O_TRUNC) changed("truncate", inode(file), "0", NULL);
    }
    return file;
}

#define OPENS(function, parameters, folder, call)                                                                     \
    int function parameters {                                                                                         \
        REAL(function);                                                                                               \
        mode_t mode = 0;                                                                                              \
        if (flags & (O_CREAT | O_TMPFILE)) {                                                                          \
            va_list rest;                                                                                             \
            va_start(rest, flags);                                                                                    \
            mode = va_arg(rest, mode_t);                                                                              \
            va_end(rest);                                                                                             \
        }                                                                                                             \
        char into[PATH_MAX];                                                                                          \
        const char *at = whole(folder, path, into);                                                                   \
        int was_there = at && log_file >= 0 && inode_at(at) >= 0;                                                     \
        enum result result = met(flags & O_CREAT ? "create" : "open", at);                                           \
        if (result == FAIL) return -1;                                                                                \
        int file = opened(at, flags, was_there, real call);                                                           \
        after(result);                                                                                                \
        return file;                                                                                                  \
    }
OPENS(open, (const char *path, int flags, ...), AT_FDCWD, (path, flags, mode))
OPENS(open64, (const char *path, int flags, ...), AT_FDCWD, (path, flags, mode))
OPENS(openat, (int folder, const char *path, int flags, ...), folder, (folder, path, flags, mode))
OPENS(openat64, (int folder, const char *path, int flags, ...), folder, (folder, path, flags, mode))

int close(int file) {
    REAL(close);
    enum result result = met("close", of(file));
    name(file, NULL);
    int done = real(file);
    after(result);
    return result == FAIL ? (errno = control->number, -1) : done;
}

static int doubled(int file, int other) {
    if (other >= 0) name(other, of(file));
    return other;
}

int dup(int file) {
    REAL(dup);
    return met("dup", of(file)) == FAIL ? -1 : doubled(file, real(file));
}
int dup2(int file, int other) {
    REAL(dup2);
    return met("dup", of(file)) == FAIL ? -1 : doubled(file, real(file, other));
}
int dup3(int file, int other, int flags) {
    REAL(dup3);
    return met("dup", of(file)) == FAIL ? -1 : doubled(file, real(file, other, flags));
}

#define CONTROLS(function)                                                                                            \
    int function(int file, int command, ...) {                                                                        \
        REAL(function);                                                                                               \
        va_list rest;                                                                                                 \
        va_start(rest, command);                                                                                      \
        void *argument = va_arg(rest, void *);                                                                        \
        va_end(rest);                                                                                                 \
        if (command != F_DUPFD && command != F_DUPFD_CLOEXEC) return real(file, command, argument);                   \
        return met("dup", of(file)) == FAIL ? -1 : doubled(file, real(file, command, argument));                      \
    }
CONTROLS(fcntl)
CONTROLS(fcntl64)

int pipe(int ends[2]) {
    REAL(pipe);
    return met("pipe", is_active() ? "a pipe" : NULL) == FAIL ? -1 : real(ends);
}
int pipe2(int ends[2], int flags) {
    REAL(pipe2);
    return met("pipe", is_active() ? "a pipe" : NULL) == FAIL ? -1 : real(ends, flags);
}

sem_t *sem_open(const char *called, int flags, ...) {
    REAL(sem_open);
    va_list rest;
    va_start(rest, flags);
    mode_t mode = va_arg(rest, mode_t);
    unsigned value = va_arg(rest, unsigned);
    va_end(rest);
    enum result result = met("create", is_active() ? "/dev/shm/sem" : NULL);
    if (result == FAIL) return SEM_FAILED;
    sem_t *made = real(called, flags, mode, value);
    after(result);
    return made;
}

/* ---- reading and writing -------------------------------------------------------------------------------------------- */

/* A call on a descriptor, or on a path, that changes nothing. */
#define LOOKS(type, function, parameters, call, operation, at)                                                        \
    type function parameters {                                                                                        \
        REAL(function);                                                                                               \
        char into[PATH_MAX];                                                                                          \
        (void)into;                                                                                                   \
        enum result result = met(operation, at);                                                                      \
        if (result == FAIL) return (type)-1;                                                                          \
        type done = real call;                                                                                        \
        after(result);                                                                                                \
        return done;                                                                                                  \
    }
LOOKS(ssize_t, read, (int file, void *into_, size_t size), (file, into_, size), "read", of(file))
LOOKS(ssize_t, pread, (int file, void *into_, size_t size, off_t from), (file, into_, size, from), "read", of(file))
LOOKS(ssize_t, pread64, (int file, void *into_, size_t size, off64_t from), (file, into_, size, from), "read", of(file))
LOOKS(ssize_t, readv, (int file, const struct iovec *all, int count), (file, all, count), "read", of(file))

#define WRITES(function, parameters, shorter, longer, blocks, count, offset)                                          \
    ssize_t function parameters {                                                                                     \
        REAL(function);                                                                                               \
        enum result result = met("write", of(file));                                                                  \
        if (result == FAIL) return -1;                                                                                \
        struct iovec one = {(void *)data, size};                                                                      \
        (void)one;                                                                                                    \
        off_t before = of(file) ? (off_t)(offset) : 0;                                                                \
        ssize_t done = result == SHORTEN ? real shorter : real longer;                                                \
        if (of(file)) written(file, before, blocks, count, done);                                                     \
        after(result);                                                                                                \
        return done;                                                                                                  \
    }
#define HALF(size) ((size) > 1 ? (size) / 2 : (size))
WRITES(write, (int file, const void *data, size_t size), (file, data, HALF(size)), (file, data, size), &one, 1,
       position(file))
WRITES(pwrite, (int file, const void *data, size_t size, off_t at), (file, data, HALF(size), at),
       (file, data, size, at), &one, 1, at)
WRITES(pwrite64, (int file, const void *data, size_t size, off64_t at), (file, data, HALF(size), at),
       (file, data, size, at), &one, 1, at)
ssize_t writev(int file, const struct iovec *data, int size) {
    REAL(writev);
    enum result result = met("write", of(file));
    if (result == FAIL) return -1;
    off_t before = of(file) ? position(file) : 0;
    ssize_t done = real(file, data, result == SHORTEN ? HALF(size) : size);
    if (of(file)) written(file, before, data, size, done);
    after(result);
    return done;
}

/* What is copied by the kernel cannot be done again from the log: who uses these calls teaches them to it. */
LOOKS(ssize_t, sendfile, (int to, int from, off_t *offset, size_t size), (to, from, offset, size), "copy", of(to))
LOOKS(ssize_t, sendfile64, (int to, int from, off64_t *offset, size_t size), (to, from, offset, size), "copy", of(to))
LOOKS(ssize_t, copy_file_range, (int from, off64_t *start, int to, off64_t *offset, size_t size, unsigned flags),
      (from, start, to, offset, size, flags), "copy", of(to))

/* ---- looking ----------------------------------------------------------------------------------------------------------- */

LOOKS(int, fstat, (int file, struct stat *to), (file, to), "stat", of(file))
LOOKS(int, fstat64, (int file, struct stat64 *to), (file, to), "stat", of(file))
LOOKS(int, stat, (const char *path, struct stat *to), (path, to), "stat", whole(AT_FDCWD, path, into))
LOOKS(int, stat64, (const char *path, struct stat64 *to), (path, to), "stat", whole(AT_FDCWD, path, into))
LOOKS(int, lstat, (const char *path, struct stat *to), (path, to), "stat", whole(AT_FDCWD, path, into))
LOOKS(int, lstat64, (const char *path, struct stat64 *to), (path, to), "stat", whole(AT_FDCWD, path, into))
LOOKS(int, fstatat, (int folder, const char *path, struct stat *to, int flags), (folder, path, to, flags), "stat",
      whole(folder, path, into))
LOOKS(int, fstatat64, (int folder, const char *path, struct stat64 *to, int flags), (folder, path, to, flags), "stat",
      whole(folder, path, into))
LOOKS(int, statx, (int folder, const char *path, int flags, unsigned mask, struct statx *to),
      (folder, path, flags, mask, to), "stat", whole(folder, path, into))
LOOKS(int, access, (const char *path, int mode), (path, mode), "access", whole(AT_FDCWD, path, into))
LOOKS(int, faccessat, (int folder, const char *path, int mode, int flags), (folder, path, mode, flags), "access",
      whole(folder, path, into))
LOOKS(ssize_t, readlink, (const char *path, char *to, size_t size), (path, to, size), "readlink",
      whole(AT_FDCWD, path, into))
LOOKS(ssize_t, readlinkat, (int folder, const char *path, char *to, size_t size), (folder, path, to, size), "readlink",
      whole(folder, path, into))
LOOKS(int, statvfs, (const char *path, struct statvfs *to), (path, to), "statvfs", whole(AT_FDCWD, path, into))
LOOKS(int, statvfs64, (const char *path, struct statvfs64 *to), (path, to), "statvfs", whole(AT_FDCWD, path, into))
LOOKS(int, fstatvfs, (int file, struct statvfs *to), (file, to), "statvfs", of(file))
LOOKS(int, fstatvfs64, (int file, struct statvfs64 *to), (file, to), "statvfs", of(file))
LOOKS(int, flock, (int file, int how), (file, how), "lock", of(file))
LOOKS(off_t, lseek, (int file, off_t to, int whence), (file, to, whence), "seek", of(file))
LOOKS(off64_t, lseek64, (int file, off64_t to, int whence), (file, to, whence), "seek", of(file))
LOOKS(int, chmod, (const char *path, mode_t mode), (path, mode), "chmod", whole(AT_FDCWD, path, into))
LOOKS(int, fchmod, (int file, mode_t mode), (file, mode), "chmod", of(file))
LOOKS(int, fchmodat, (int folder, const char *path, mode_t mode, int flags), (folder, path, mode, flags), "chmod",
      whole(folder, path, into))
LOOKS(int, utimensat, (int folder, const char *path, const struct timespec times[2], int flags),
      (folder, path, times, flags), "utime", path ? whole(folder, path, into) : of(folder))
LOOKS(int, futimens, (int file, const struct timespec times[2]), (file, times), "utime", of(file))

DIR *opendir(const char *path) {
    REAL(opendir);
    char into[PATH_MAX];
    const char *at = whole(AT_FDCWD, path, into);
    enum result result = met("open", at);
    if (result == FAIL) return NULL;
    DIR *folder = real(path);
    if (folder) name(dirfd(folder), at);
    after(result);
    return folder;
}
DIR *fdopendir(int file) {
    REAL(fdopendir);
    return met("opendir", of(file)) == FAIL ? NULL : real(file);
}
#define LISTS(type, function)                                                                                         \
    type *function(DIR *folder) {                                                                                     \
        REAL(function);                                                                                               \
        enum result result = met("readdir", of(dirfd(folder)));                                                       \
        if (result == FAIL) return NULL;                                                                              \
        type *found = real(folder);                                                                                   \
        after(result);                                                                                                \
        return found;                                                                                                 \
    }
LISTS(struct dirent, readdir)
LISTS(struct dirent64, readdir64)
int closedir(DIR *folder) {
    REAL(closedir);
    int file = dirfd(folder);
    enum result result = met("close", of(file));
    name(file, NULL);
    int done = real(folder);
    after(result);
    return result == FAIL ? (errno = control->number, -1) : done;
}

/* ---- changing what there is ---------------------------------------------------------------------------------------------- */

#define CHANGES(function, parameters, call, operation, at, told)                                                      \
    int function parameters {                                                                                         \
        REAL(function);                                                                                               \
        char into[PATH_MAX], into2[PATH_MAX];                                                                         \
        (void)into, (void)into2;                                                                                      \
        const char *where = at;                                                                                       \
        enum result result = met(operation, where);                                                                   \
        if (result == FAIL) return -1;                                                                                \
        int done = real call;                                                                                         \
        if (!done && where) {                                                                                         \
            told;                                                                                                     \
        }                                                                                                             \
        after(result);                                                                                                \
        return done;                                                                                                  \
    }
CHANGES(fsync, (int file), (file), "fsync", of(file), changed("sync", inode(file), NULL, NULL))
CHANGES(fdatasync, (int file), (file), "fsync", of(file), changed("sync", inode(file), NULL, NULL))
CHANGES(syncfs, (int file), (file), "syncfs", of(file), changed("syncfs", 0, NULL, NULL))
CHANGES(ftruncate, (int file, off_t size), (file, size), "truncate", of(file), {
    char text[32];
    snprintf(text, sizeof text, "%ld", (long)size);
    changed("truncate", inode(file), text, NULL);
})
CHANGES(ftruncate64, (int file, off64_t size), (file, size), "truncate", of(file), {
    char text[32];
    snprintf(text, sizeof text, "%ld", (long)size);
    changed("truncate", inode(file), text, NULL);
})
CHANGES(mkdir, (const char *path, mode_t mode), (path, mode), "mkdir", whole(AT_FDCWD, path, into),
        changed("mkdir", inode_at(where), where, NULL))
CHANGES(mkdirat, (int folder, const char *path, mode_t mode), (folder, path, mode), "mkdir", whole(folder, path, into),
        changed("mkdir", inode_at(where), where, NULL))
CHANGES(rmdir, (const char *path), (path), "rmdir", whole(AT_FDCWD, path, into), changed("rmdir", 0, where, NULL))
CHANGES(unlink, (const char *path), (path), "unlink", whole(AT_FDCWD, path, into), changed("unlink", 0, where, NULL))
CHANGES(unlinkat, (int folder, const char *path, int flags), (folder, path, flags),
        flags & AT_REMOVEDIR ? "rmdir" : "unlink", whole(folder, path, into),
        changed(flags & AT_REMOVEDIR ? "rmdir" : "unlink", 0, where, NULL))
CHANGES(symlink, (const char *to, const char *path), (to, path), "symlink", whole(AT_FDCWD, path, into),
        changed("symlink", 0, to, where))
CHANGES(symlinkat, (const char *to, int folder, const char *path), (to, folder, path), "symlink",
        whole(folder, path, into), changed("symlink", 0, to, where))
CHANGES(rename, (const char *path, const char *to), (path, to), "rename", whole(AT_FDCWD, to, into),
        changed("rename", 0, whole(AT_FDCWD, path, into2), where))
CHANGES(renameat, (int folder, const char *path, int other, const char *to), (folder, path, other, to), "rename",
        whole(other, to, into), changed("rename", 0, whole(folder, path, into2), where))
CHANGES(link, (const char *path, const char *to), (path, to), "link", whole(AT_FDCWD, to, into),
        changed("link", 0, whole(AT_FDCWD, path, into2), where))
CHANGES(linkat, (int folder, const char *path, int other, const char *to, int flags),
        (folder, path, other, to, flags), "link", whole(other, to, into),
        changed("link", 0, whole(folder, path, into2), where))
