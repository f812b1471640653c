package import Conformance

/// The shape of an answer: which members stand where and what kind of value they have, with nothing
/// of what they say.
package struct AnswerShape: Hashable, Sendable {
    /// Kinds by place; all items of a list share one place, `/items/*`.
    package private(set) var kinds: [String: Set<String>] = [:]
    /// How many values stand at a place: fewer than there are objects around it, where a member is not
    /// in all of them.
    private var counts: [String: Int] = [:]

    /// - Parameters:
    ///   - value: The answer's body.
    ///   - openMembers: Members whose own members are named by people: they share one place too.
    package init(_ value: JSONValue, openMembers: Set<String>) {
        add(value, at: "", isOpen: false, openMembers)
    }

    private mutating func add(
        _ value: JSONValue,
        at place: String,
        isOpen: Bool,
        _ openMembers: Set<String>
    ) {
        kinds[place, default: []].insert(value.kind)
        counts[place, default: 0] += 1
        switch value {
        case .object(let object):
            for member in object.members {
                let name = isOpen ? "*" : member.key
                add(
                    member.value,
                    at: place + "/" + name,
                    isOpen: !isOpen && openMembers.contains(member.key),
                    openMembers
                )
            }
        case .array(let items):
            for item in items { add(item, at: place + "/*", isOpen: false, openMembers) }
        case .null, .bool, .number, .string: break
        }
    }

    // MARK: Comparing

    /// A place at which two answers differ.
    package struct Difference: Hashable, Sendable, Comparable {
        package enum Kind: Hashable, Sendable {
            /// Only the live service has it, with values of these kinds.
            case onlyLive([String])
            case onlyFake([String])
            case kinds(live: [String], fake: [String])
        }

        package let place: String
        package let kind: Kind

        package static func < (left: Difference, right: Difference) -> Bool {
            left.place < right.place
        }
    }

    /// Where a live answer differs from the fake's.
    ///
    /// A list or a map that is empty says nothing about what would stand in it, and null nothing about
    /// the kind of what may stand there.
    ///
    /// - Parameters:
    ///   - fake: The fake's answer.
    ///   - optional: Members that the live service leaves out while nothing is set.
    /// - Returns: The places, in their order.
    package func differences(
        from fake: AnswerShape,
        optional: Set<String> = []
    ) -> [Difference] {
        var found: [Difference] = []
        for (place, live) in kinds {
            guard let own = fake.kinds[place] else {
                if Self.isComparable(place, in: fake) {
                    found.append(Difference(place: place, kind: .onlyLive(live.sorted())))
                }
                continue
            }
            let (left, right) = (live.subtracting(["null"]), own.subtracting(["null"]))
            if !left.isEmpty, !right.isEmpty, left.isDisjoint(with: right) {
                found.append(
                    Difference(
                        place: place,
                        kind: .kinds(live: left.sorted(), fake: right.sorted())
                    )
                )
            }
        }
        for (place, own) in fake.kinds where kinds[place] == nil {
            let name = place.split(separator: "/").last.map(String.init) ?? ""
            let isDue = !fake.isSometimes(place) && !optional.contains(name)
            guard isDue, Self.isComparable(place, in: self) else { continue }
            found.append(Difference(place: place, kind: .onlyFake(own.sorted())))
        }
        return found.sorted()
    }

    /// Whether only some of the objects have it: the others of the live service may have none such.
    private func isSometimes(_ place: String) -> Bool {
        guard let slash = place.lastIndex(of: "/") else { return false }
        return counts[place, default: 0] < counts[String(place[..<slash]), default: 0]
    }

    /// Whether the other answer could have shown it: what it would stand in is there, and is no list
    /// and no map that may just be empty.
    private static func isComparable(_ place: String, in other: AnswerShape) -> Bool {
        guard !place.hasSuffix("/*"), let slash = place.lastIndex(of: "/") else { return false }
        return other.kinds[String(place[..<slash])]?.contains("an object") ?? false
    }
}
