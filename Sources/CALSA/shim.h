#include <alsa/asoundlib.h>

/* The library writes what it thinks of a device to the error output, several lines each time. Whoever calls it says what it
   returned instead. Swift cannot make a function with "...". */
static inline void till_alsa_says_nothing(const char *file, int line, const char *function, int code, const char *format, ...) {
    (void)file, (void)line, (void)function, (void)code, (void)format;
}

static inline void till_silence_alsa(void) { snd_lib_error_set_handler(till_alsa_says_nothing); }
