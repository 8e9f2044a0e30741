# Wi-Fi in the guest: two virtual radios, a real access point in a network of its own, and the real iwd. Sourced by the scenarios that
# need it.
#
#   wifi_radios_up       the kernel's two radios
#   access_point_up      an access point called $name with $passphrase; it gives the terminal $address
#   in_access_point …    a command in its network
#   iwd_start            the Wi-Fi daemon, again too
#   address_comes        asks the network for an address, as systemd-networkd does in the image; address_follows asks until it has one

name='Café <b>'
passphrase='tram bell seventeen'
address=192.168.77.50

wifi_radios_up() {
    modprobe mac80211_hwsim radios=2 || return 1
    within 5 eval '[ "$(ls /sys/class/ieee80211 | wc -l)" = 2 ]' || return 1
    # A number from before would be a network.
    for one in /sys/class/net/*/phy80211; do busybox ip addr flush dev "$(basename "$(dirname "$one")")"; done
}
in_access_point() { nsenter -t "$(pid street)" -n "$@"; }
access_point_up() {
    local phy
    phy=$(ls /sys/class/ieee80211 | head -n 1)
    background street unshare -n sleep infinity
    within 5 iw phy "$phy" set netns "$(pid street)" || return 1
    cat >/tmp/hostapd.conf <<CONF
interface=$(in_access_point iw dev | awk '$1 == "Interface" { print $2; exit }')
driver=nl80211
ssid2="$name"
utf8_ssid=1
hw_mode=g
channel=1
wpa=2
wpa_key_mgmt=WPA-PSK
rsn_pairwise=CCMP
wpa_passphrase=$passphrase
CONF
    radio=$(sed -n 's/^interface=//p' /tmp/hostapd.conf)
    background hostapd in_access_point hostapd /tmp/hostapd.conf
    within 10 grep -q AP-ENABLED "$RIG_LOGS/hostapd.log" || return 1
    in_access_point busybox ip addr add 192.168.77.1/24 dev "$radio" || return 1
    printf 'interface %s\nstart %s\nend %s\noption subnet 255.255.255.0\nlease_file /tmp/leases\n' "$radio" $address $address >/tmp/udhcpd.conf
    : >/tmp/leases
    background udhcpd in_access_point busybox udhcpd -f /tmp/udhcpd.conf
}
iwd_start() {
    mkdir -p /tmp/iwd /tmp/iwd-configuration
    background iwd env STATE_DIRECTORY=/tmp/iwd CONFIGURATION_DIRECTORY=/tmp/iwd-configuration /usr/libexec/iwd
    within 10 bus --dest=net.connman.iwd / org.freedesktop.DBus.ObjectManager.GetManagedObjects
}
# The image leaves this to systemd-networkd.
address_comes() {
    local interface
    interface=$(basename "$(dirname "$(ls -d /sys/class/net/*/phy80211 | head -n 1)")")
    printf '#!/bin/sh\n[ "$1" != bound ] || busybox ip addr replace "$ip/24" dev "$interface"\n' >/tmp/bound
    chmod +x /tmp/bound
    busybox udhcpc -i "$interface" -n -q -t 10 -s /tmp/bound
}
address_follows() { until address_comes; do sleep 1; done; }
never_kept() { ! grep -rla "$passphrase" $state "$RIG_LOGS/terminal.log"; }
