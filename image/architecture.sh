# For sourcing, in the folder of the sources: what differs between the machines that images are made for. TILL_IMAGE_ARCH says
# which it is; without, it is x86_64. image/architecture/NAME has its settings, and what its lists have beside the common ones.
architecture=${TILL_IMAGE_ARCH:-x86_64}
[ -f "image/architecture/$architecture/settings" ] || {
    echo "There are no images for $architecture; for these there are: $(ls image/architecture | paste -sd' ')." >&2
    exit 64
}
. "image/architecture/$architecture/settings"

# The words of a list: those of every machine, then those of this one.
list() { cat "image/$1" "image/architecture/$architecture/$1" 2>/dev/null | sed 's/#.*//' | grep -o '[^[:space:]]*' || true; }
