import Payments

/// What the gateway has to do at which moment, earliest first. Moments that passed unneeded are dropped when due.
struct Agenda<Item: Sendable>: Sendable {
    private var heap: [(time: WallTime, item: Item)] = []

    /// The earliest moment at which something may be due.
    var next: WallTime? { heap.first?.time }

    mutating func add(_ item: Item, at time: WallTime) {
        heap.append((time, item))
        var child = heap.count - 1
        while child > 0, heap[child].time < heap[(child - 1) / 2].time {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    /// Takes the earliest item, and its moment, if that has come.
    mutating func takeDue(at now: WallTime) -> (time: WallTime, item: Item)? {
        guard let first = heap.first, first.time <= now else { return nil }
        let last = heap.removeLast()
        guard !heap.isEmpty else { return first }
        heap[0] = last
        var parent = 0
        while true {
            let left = 2 * parent + 1
            guard left < heap.count else { break }
            let right = left + 1
            let child = right < heap.count && heap[right].time < heap[left].time ? right : left
            guard heap[child].time < heap[parent].time else { break }
            heap.swapAt(child, parent)
            parent = child
        }
        return first
    }
}
