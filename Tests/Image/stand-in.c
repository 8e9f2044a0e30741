/* In place of the terminal, where there is no compiler for it: says that it is none, and touches what a terminal needs of its machine.
   It takes no payment and tests nothing. It is made by Tests/Image/arm64.py and is in no image but that test's. */

typedef unsigned long size_t;
typedef long ssize_t;

/* No headers of the C library are at hand for that machine; these are the same on every Linux with 64 bits. */
struct pollfd {
    int fd;
    short events, revents;
};
struct internet {
    unsigned short family, port;
    unsigned char address[4], zero[8];
};
struct local {
    unsigned short family;
    char path[108];
};
int open(const char *, int, ...);
int close(int);
ssize_t write(int, const void *, size_t);
int socket(int, int, int);
int bind(int, const void *, unsigned);
int listen(int, int);
int accept(int, void *, void *);
ssize_t sendto(int, const void *, size_t, int, const void *, unsigned);
int poll(struct pollfd *, size_t, int);
int system(const char *);
char *getenv(const char *);
size_t strlen(const char *);
int strcmp(const char *, const char *);
char *strcpy(char *, const char *);

static void say(int to, const char *text) { write(to, text, strlen(text)); }

/* systemd's protocol for services: sd_notify(3). */
static void tell_manager(const char *text) {
    const char *place = getenv("NOTIFY_SOCKET");
    struct local to = {.family = 1};
    if (!place || strlen(place) >= sizeof to.path) return;
    strcpy(to.path, place);
    if (to.path[0] == '@') to.path[0] = 0;
    int line = socket(1, 2, 0);
    sendto(line, text, strlen(text), 0, &to, 2 + strlen(place));
    close(line);
}

/* The whole screen in one colour, which no firmware and no boot loader shows. */
static void paint(void) {
    static unsigned row[4096];
    int screen = open("/dev/fb0", 1);
    if (screen < 0) {
        say(1, "stand-in: there is no framebuffer\n");
        return;
    }
    for (int pixel = 0; pixel < 4096; pixel++) row[pixel] = 0x00c04080;
    while (write(screen, row, sizeof row) > 0) {}
    close(screen);
    say(1, "stand-in: the screen is painted\n");
}

static int run(void) {
    say(1, "stand-in: this is no terminal and takes no payment\n");
    paint();
    struct internet place = {.family = 2, .port = 0xfb20}; /* 8443 */
    struct pollfd door = {.fd = socket(2, 1, 0), .events = 1};
    if (bind(door.fd, &place, sizeof place) || listen(door.fd, 4)) say(1, "stand-in: its port cannot be opened\n");
    tell_manager("READY=1");
    /* What a terminal asks RAUC over the bus. */
    system("/usr/bin/rauc status --output-format=shell");
    for (;;) {
        if (poll(&door, 1, 15000) > 0) {
            int caller = accept(door.fd, 0, 0);
            say(caller, "stand-in\n");
            close(caller);
        }
        tell_manager("WATCHDOG=1");
    }
}

/* What the C library's start-up files would bring: the count of words is where the stack begins, the words after it. */
__asm__(".global _start\n"
        "_start: adrp x0, main\n"
        "add x0, x0, :lo12:main\n"
        "ldr x1, [sp]\n"
        "add x2, sp, #8\n"
        "mov x3, #0\n"
        "mov x4, #0\n"
        "mov x5, #0\n"
        "mov x6, sp\n"
        "bl __libc_start_main\n");

int main(int count, char **words) {
    if (count > 1 && !strcmp(words[1], "run")) return run();
    if (count > 1 && !strcmp(words[1], "self-test")) {
        say(1, "stand-in: nothing of a terminal was tested\n");
        return 0;
    }
    return 64;
}
