/* Stands between a process and the C library (LD_PRELOAD), and makes the n-th call that writes below a folder fail.
 *
 * Unlike a patch in Python it sees what SQLite and FAISS do. Idle until shim_arm is called; the loaded copy
 * is found with ctypes. With a log, each call that succeeded is written down, with its data, for ordering.py:
 *
 *     4 bytes kind, 4 bytes length of name, 4 bytes length of second name, 4 bytes flags,
 *     8 bytes offset, 8 bytes length, name, second name, data
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { WRITE = 1, SYNC, TRUNCATE, RENAME, UNLINK, CREATE, MKDIR, RMDIR };

static char root[4096];
static long fail_at, calls;
static int fail_with, sticky, log_fd = -1;
static char failed_path[4096];

#define REAL(type, name, ...)                                     \
    static type (*real)(__VA_ARGS__);                             \
    if (!real) real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

/* Let call number `at` below `folder` fail with `error` (a negative one kills); 0 only counts.
 * `again`: every later call that needs room fails too. `log`: a descriptor to log to, or -1. */
void shim_arm(const char *folder, long at, int error, int again, int log) {
    strncpy(root, folder, sizeof root - 1);
    fail_at = at, fail_with = error, sticky = again, log_fd = log, calls = 0;
    failed_path[0] = 0;
}

long shim_disarm(void) {
    long made = calls;
    root[0] = 0;
    log_fd = -1;
    return made;
}

const char *shim_failed(void) { return failed_path; }

static int below(const char *path) {
    size_t n = strlen(root);
    return n && path && !strncmp(path, root, n) && (path[n] == '/' || !path[n]);
}

static int path_of(int fd, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, 4095);
    if (n < 0) return 0;
    path[n] = 0;
    return below(path);
}

static int at_path(int dir, const char *path, char *full) {
    if (path[0] == '/' || dir == AT_FDCWD) { snprintf(full, 4096, "%s", path); return below(full); }
    if (!path_of(dir, full)) return 0;
    size_t n = strlen(full);
    snprintf(full + n, 4096 - n, "/%s", path);
    return below(full);
}

/* Whether this call is to fail. On a disk that is full only what needs room goes on failing. */
static int fails(int kind, const char *path) {
    int needs_room = kind == WRITE || kind == CREATE || kind == MKDIR;
    long n = __sync_add_and_fetch(&calls, 1);
    if (!fail_at || (n != fail_at && !(sticky && needs_room && n > fail_at))) return 0;
    if (fail_with < 0) kill(getpid(), SIGKILL);
    if (!failed_path[0]) snprintf(failed_path, sizeof failed_path, "%s", path);
    errno = fail_with;
    return 1;
}

static void note(uint32_t kind, const char *one, const char *two, int64_t offset, const void *data, int64_t length) {
    if (log_fd < 0) return;
    REAL(ssize_t, write, int, const void *, size_t);
    uint32_t head[4] = {kind, (uint32_t)strlen(one), two ? (uint32_t)strlen(two) : 0, data != NULL};
    int64_t where[2] = {offset, length};
    int kept = errno;
    real(log_fd, head, sizeof head);
    real(log_fd, where, sizeof where);
    real(log_fd, one, head[1]);
    if (two) real(log_fd, two, head[2]);
    if (data) real(log_fd, data, (size_t)length);
    errno = kept;
}

ssize_t write(int fd, const void *data, size_t n) {
    REAL(ssize_t, write, int, const void *, size_t);
    char path[4096];
    if (!root[0] || !path_of(fd, path)) return real(fd, data, n);
    if (fails(WRITE, path)) return -1;
    off_t at = (fcntl(fd, F_GETFL) & O_APPEND) ? lseek(fd, 0, SEEK_END) : lseek(fd, 0, SEEK_CUR);
    ssize_t made = real(fd, data, n);
    if (made > 0) note(WRITE, path, NULL, at, data, made);
    return made;
}

#define PWRITE(name, offset_t)                                                        \
    ssize_t name(int fd, const void *data, size_t n, offset_t at) {                   \
        REAL(ssize_t, name, int, const void *, size_t, offset_t);                     \
        char path[4096];                                                              \
        if (!root[0] || !path_of(fd, path)) return real(fd, data, n, at);   \
        if (fails(WRITE, path)) return -1;                                                   \
        ssize_t made = real(fd, data, n, at);                                         \
        if (made > 0) note(WRITE, path, NULL, at, data, made);                        \
        return made;                                                                  \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define SYNC_CALL(name)                                               \
    int name(int fd) {                                                \
        REAL(int, name, int);                                         \
        char path[4096];                                              \
        if (!root[0] || !path_of(fd, path)) return real(fd); \
        if (fails(SYNC, path)) return -1;                                   \
        int made = real(fd);                                          \
        if (!made) note(SYNC, path, NULL, 0, NULL, 0);                \
        return made;                                                  \
    }
SYNC_CALL(fsync)
SYNC_CALL(fdatasync)

#define TRUNCATE_CALL(name, offset_t)                                     \
    int name(int fd, offset_t n) {                                        \
        REAL(int, name, int, offset_t);                                   \
        char path[4096];                                                  \
        if (!root[0] || !path_of(fd, path)) return real(fd, n); \
        if (fails(TRUNCATE, path)) return -1;                                       \
        int made = real(fd, n);                                           \
        if (!made) note(TRUNCATE, path, NULL, 0, NULL, n);                \
        return made;                                                      \
    }
TRUNCATE_CALL(ftruncate, off_t)
TRUNCATE_CALL(ftruncate64, off64_t)

int rename(const char *from, const char *to) {
    REAL(int, rename, const char *, const char *);
    if (!below(from) && !below(to)) return real(from, to);
    if (fails(RENAME, to)) return -1;
    int made = real(from, to);
    if (!made) note(RENAME, from, to, 0, NULL, 0);
    return made;
}

int renameat(int one, const char *from, int two, const char *to) {
    REAL(int, renameat, int, const char *, int, const char *);
    char a[4096], b[4096];
    if (!root[0] || (!at_path(one, from, a) & !at_path(two, to, b))) return real(one, from, two, to);
    if (fails(RENAME, b)) return -1;
    int made = real(one, from, two, to);
    if (!made) note(RENAME, a, b, 0, NULL, 0);
    return made;
}

int unlink(const char *path) {
    REAL(int, unlink, const char *);
    if (!below(path)) return real(path);
    struct stat there;
    if (lstat(path, &there)) return real(path);
    if (fails(UNLINK, path)) return -1;
    int made = real(path);
    if (!made) note(UNLINK, path, NULL, 0, NULL, 0);
    return made;
}

int unlinkat(int dir, const char *path, int flags) {
    REAL(int, unlinkat, int, const char *, int);
    char full[4096];
    if (!root[0] || !at_path(dir, path, full)) return real(dir, path, flags);
    if (fails(UNLINK, full)) return -1;
    int made = real(dir, path, flags);
    if (!made) note(flags & AT_REMOVEDIR ? RMDIR : UNLINK, full, NULL, 0, NULL, 0);
    return made;
}

int rmdir(const char *path) {
    REAL(int, rmdir, const char *);
    if (!below(path)) return real(path);
    if (fails(RMDIR, path)) return -1;
    int made = real(path);
    if (!made) note(RMDIR, path, NULL, 0, NULL, 0);
    return made;
}

int mkdir(const char *path, mode_t mode) {
    REAL(int, mkdir, const char *, mode_t);
    if (!below(path)) return real(path, mode);
    if (fails(MKDIR, path)) return -1;
    int made = real(path, mode);
    if (!made) note(MKDIR, path, NULL, 0, NULL, 0);
    return made;
}

/* Opening fails only where it makes a file or cuts one off. */
static int opens(const char *full, int flags) {
    struct stat there;
    int missing = lstat(full, &there) != 0;
    if (flags & O_CREAT && missing) return CREATE;
    if (flags & O_TRUNC && !missing) return TRUNCATE;
    return 0;
}

#define OPEN(name)                                                                       \
    int name(const char *path, int flags, ...) {                                         \
        REAL(int, name, const char *, int, ...);                                         \
        mode_t mode = 0;                                                                 \
        if (flags & (O_CREAT | __O_TMPFILE)) {                                           \
            va_list rest; va_start(rest, flags); mode = va_arg(rest, mode_t); va_end(rest); \
        }                                                                                \
        int kind = below(path) ? opens(path, flags) : 0;                                 \
        if (kind && fails(kind, path)) return -1;                                              \
        int fd = real(path, flags, mode);                                                \
        if (kind && fd >= 0) note(kind, path, NULL, 0, NULL, 0);                         \
        return fd;                                                                       \
    }
OPEN(open)
OPEN(open64)

/* The C library's streams do not call `write` through us. */
#define FOPEN(name)                                                                      \
    FILE *name(const char *path, const char *mode) {                                     \
        REAL(FILE *, name, const char *, const char *);                                  \
        int kind = below(path) && mode[0] != 'r' ? opens(path, O_CREAT | O_TRUNC) : 0;   \
        if (kind && fails(kind, path)) return NULL;                                            \
        FILE *file = real(path, mode);                                                   \
        if (kind && file) note(kind, path, NULL, 0, NULL, 0);                            \
        return file;                                                                     \
    }
FOPEN(fopen)
FOPEN(fopen64)

size_t fwrite(const void *data, size_t size, size_t n, FILE *file) {
    REAL(size_t, fwrite, const void *, size_t, size_t, FILE *);
    char path[4096];
    if (!root[0] || !path_of(fileno(file), path)) return real(data, size, n, file);
    if (fails(WRITE, path)) return 0;
    off_t at = ftello(file);
    size_t made = real(data, size, n, file);
    if (made) note(WRITE, path, NULL, at, data, (int64_t)(made * size));
    return made;
}

int fclose(FILE *file) {
    REAL(int, fclose, FILE *);
    char path[4096];
    if (!root[0] || (fcntl(fileno(file), F_GETFL) & O_ACCMODE) == O_RDONLY || !path_of(fileno(file), path))
        return real(file);
    int failing = fails(WRITE, path); /* what was still in the stream's buffer could not be written */
    int kept = errno;
    int made = real(file);
    if (failing) { errno = kept; return EOF; }
    return made;
}
