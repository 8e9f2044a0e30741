# The terminal joins a Wi-Fi network by its page: the kernel's own Wi-Fi over two virtual radios, a real access point in a network of
# its own, and the real iwd.
# Limit: 150 s
# Part: rest

. $rig/tests/air.sh

network_says() { api GET network | tee /tmp/network | jq -e "$1" >/dev/null || { jq -c 'del(.networks)' /tmp/network; return 1; }; }
is_heard() { api POST network/scan '{}' >/dev/null; network_says ".networks | any(.name == \"$name\" and .security == \"passphrase\" and .bars > 0)"; }
joins() {
    local id
    id=$(api GET network | jq -r --arg name "$name" '.networks[] | select(.name == $name) | .id')
    api PUT network/connection "$(jq -nc --arg id "$id" --arg passphrase "$1" '{network: $id, passphrase: $passphrase}')"
}
page_over_the_air() { in_access_point curl -sk --max-time 10 "https://$address:$RIG_PORT/healthz" | grep -q .; }
forgets() { api DELETE "network/known/$(api GET network | jq -r '.known[0].id')" '{}' >/dev/null; }
iwd_keeps_nothing() { ! grep -rqa "$passphrase" /tmp/iwd; }

radios_up() { bus_start && wifi_radios_up; }
required "Two radios are there" radios_up
required "An access point serves" access_point_up
required "The terminal starts" terminal_up $'wifi:\n  managed: true'
required "The owner is there" owner_is_there
promise "Without iwd the page says so" network_says '.reason.code == "wifi_no_service"'
required "iwd starts" iwd_start
required "The network is heard, with its name as it is, its signal and its security" within 20 is_heard

required "A joining with a wrong passphrase begins" joins "tram bell eighteen"
promise "The wrong passphrase is said as such" within 40 network_says '.attempt.stage == "failed" and .attempt.reason.code == "wifi_passphrase_wrong"'
required "A joining with the right one begins" joins "$passphrase"
required "The terminal is in the network" within 40 network_says '.attempt.stage == "joined" and .link == "joined" and .network.name == "'"$name"'"'
promise "The network gives it an address" address_comes
promise "The page says that address" within 5 network_says ".addresses == [\"$address\"]"
promise "A phone in that network reaches the page there" within 10 page_over_the_air

finish iwd KILL
promise "iwd is killed: the page says so" within 10 network_says '.reason.code == "wifi_no_service"'
required "iwd is started again" iwd_start
promise "It joins the network again, by itself" within 60 network_says '.link == "joined"'
address_comes
promise "The page is reached over it again" within 10 page_over_the_air

promise "The passphrase is nowhere in what the terminal keeps or logs" never_kept
promise "The network is forgotten" forgets
promise "The terminal is out of it" within 10 network_says '.link == "none" and .known == []'
promise "iwd keeps no passphrase of it" iwd_keeps_nothing
