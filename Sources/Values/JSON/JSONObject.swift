/// A JSON object that keeps its members in the order in which the document contains them.
///
/// Two objects with the same members in different orders are equal. Two keys are equal when their
/// code points are equal (RFC 8259, section 8.3).
package struct JSONObject: Hashable, Sendable, ExpressibleByDictionaryLiteral {
    package struct Member: Hashable, Sendable {
        package var key: String
        package var value: JSONValue

        package init(key: String, value: JSONValue) {
            self.key = key
            self.value = value
        }

        package static func == (left: Member, right: Member) -> Bool {
            left.key.isExactly(right.key) && left.value == right.value
        }

        package func hash(into hasher: inout Hasher) {
            hasher.combine(ExactText(key))
            hasher.combine(value)
        }
    }

    package private(set) var members: [Member]

    package init(members: [Member] = []) {
        self.members = members
    }

    package init(dictionaryLiteral elements: (String, JSONValue)...) {
        members = elements.map { Member(key: $0.0, value: $0.1) }
    }

    package var keys: [String] { members.map(\.key) }

    /// The value of the last member with that key; assigning nil removes the member.
    package subscript(key: String) -> JSONValue? {
        get { members.last { $0.key.isExactly(key) }?.value }
        set {
            guard let index = members.lastIndex(where: { $0.key.isExactly(key) }) else {
                if let newValue { members.append(Member(key: key, value: newValue)) }
                return
            }
            if let newValue {
                members[index].value = newValue
            } else {
                members.remove(at: index)
            }
        }
    }

    package static func == (left: JSONObject, right: JSONObject) -> Bool {
        if left.members == right.members { return true }
        return left.members.count == right.members.count
            && left.sorted == right.sorted
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(sorted)
    }

    private var sorted: [Member] { members.sorted { $0.key.sortsBefore($1.key) } }
}
