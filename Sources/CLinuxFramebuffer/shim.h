#include <linux/fb.h>
#include <linux/kd.h>
