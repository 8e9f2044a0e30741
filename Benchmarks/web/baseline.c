/* A plain libmicrohttpd server with the routes of till-bench-web: what C can do on this machine.
 *
 *   cc -O2 -o baseline baseline.c $(pkg-config --cflags --libs libmicrohttpd)
 *
 * /json       a small answer, written anew for each request
 * /page.html  10 KB that never change: one finished answer for all requests
 *
 * The same header fields as till-bench-web sends, so that both put the same number of bytes on the wire. Prints its
 * port; serves until it is killed. */
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct MHD_Response *page;
static unsigned long count;

static void add_common_fields(struct MHD_Response *response)
{
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
}

static enum MHD_Result answer_json(struct MHD_Connection *connection)
{
    char text[128];
    int length = snprintf(text, sizeof text, "{\"phase\":\"idle\",\"gateway\":\"ready\",\"checking\":0,\"at\":%lu}", ++count);
    struct MHD_Response *response =
        MHD_create_response_from_buffer((size_t)length, text, MHD_RESPMEM_MUST_COPY);
    MHD_add_response_header(response, "Content-Type", "application/json");
    add_common_fields(response);
    enum MHD_Result result = MHD_queue_response(connection, MHD_HTTP_OK, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *upload, size_t *upload_size, void **state)
{
    static int seen;
    (void)context; (void)version; (void)upload; (void)upload_size;
    if (strcmp(method, "GET") != 0) return MHD_NO;
    if (*state == NULL) { /* An answer at the first call would close the connection. */
        *state = &seen;
        return MHD_YES;
    }
    if (strcmp(url, "/json") == 0) return answer_json(connection);
    return MHD_queue_response(connection, MHD_HTTP_OK, page);
}

int main(int count_of_arguments, char **arguments)
{
    static char body[10240];
    memset(body, 'x', sizeof body);
    page = MHD_create_response_from_buffer(sizeof body, body, MHD_RESPMEM_PERSISTENT);
    MHD_add_response_header(page, "ETag", "\"b28eae5502cf4325-2800\"");
    MHD_add_response_header(page, "Cache-Control", "no-cache");
    MHD_add_response_header(page, "Content-Type", "text/html; charset=utf-8");
    add_common_fields(page);
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD, (uint16_t)(count_of_arguments > 1 ? atoi(arguments[1]) : 0), NULL, NULL, answer, NULL,
        MHD_OPTION_CONNECTION_LIMIT, 256u, MHD_OPTION_END);
    if (daemon == NULL) return 1;
    printf("%u\n", MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
    fflush(stdout);
    for (;;) pause();
}
