package import Conformance

/// The shape of a JSON response: the path and the kind (string, number, …) of each value, without
/// the values.
package struct ResponseShape: Hashable, Sendable {
    /// The kinds of the values at each path.
    ///
    /// All items of a list share one path, such as `/items/*`.
    package private(set) var kinds: [String: Set<String>] = [:]
    /// The number of values at each path.
    ///
    /// If some objects lack a member, the path of that member has fewer values than the path of the
    /// objects.
    private var valueCounts: [String: Int] = [:]

    /// Creates the shape of a response.
    ///
    /// - Parameters:
    ///   - value: The body of the response.
    ///   - userNamedMembers: The names of members that are maps with arbitrary keys. All values of such
    ///     a map share one path.
    package init(_ value: JSONValue, userNamedMembers: Set<String>) {
        add(value, at: "", hasArbitraryKeys: false, userNamedMembers)
    }

    private mutating func add(
        _ value: JSONValue,
        at place: String,
        hasArbitraryKeys: Bool,
        _ userNamedMembers: Set<String>
    ) {
        kinds[place, default: []].insert(value.kind)
        valueCounts[place, default: 0] += 1
        switch value {
        case .object(let object):
            for member in object.members {
                let name = hasArbitraryKeys ? "*" : member.key
                add(
                    member.value,
                    at: place + "/" + name,
                    hasArbitraryKeys: !hasArbitraryKeys && userNamedMembers.contains(member.key),
                    userNamedMembers
                )
            }
        case .array(let items):
            for item in items {
                add(item, at: place + "/*", hasArbitraryKeys: false, userNamedMembers)
            }
        case .null, .bool, .number, .string: break
        }
    }

    // MARK: Comparing

    /// A path at which the response of the live service and the response of the fake differ.
    package struct Difference: Hashable, Sendable, Comparable {
        package enum Kind: Hashable, Sendable {
            /// Only the response of the live service has a value at the path; the strings are the
            /// kinds of the value.
            case missingInFake([String])
            case missingInLive([String])
            case kinds(live: [String], fake: [String])
        }

        package let place: String
        package let kind: Kind

        package static func < (left: Difference, right: Difference) -> Bool {
            left.place < right.place
        }
    }

    /// Returns the paths at which the response of the live service differs from the response of the
    /// fake.
    ///
    /// An empty list or map does not show the shape of its items, and null does not show the kind
    /// of a value.
    ///
    /// - Parameters:
    ///   - fake: The shape of the fake's response.
    ///   - optional: The members that the live service omits when they are not set.
    /// - Returns: The differences, sorted by path.
    package func differences(
        from fake: ResponseShape,
        optional: Set<String> = []
    ) -> [Difference] {
        var found: [Difference] = []
        for (place, live) in kinds {
            guard let fakeKinds = fake.kinds[place] else {
                if Self.isComparable(place, in: fake) {
                    found.append(Difference(place: place, kind: .missingInFake(live.sorted())))
                }
                continue
            }
            let (left, right) = (live.subtracting(["null"]), fakeKinds.subtracting(["null"]))
            if !left.isEmpty, !right.isEmpty, left.isDisjoint(with: right) {
                found.append(
                    Difference(
                        place: place,
                        kind: .kinds(live: left.sorted(), fake: right.sorted())
                    )
                )
            }
        }
        for (place, fakeKinds) in fake.kinds where kinds[place] == nil {
            let name = place.split(separator: "/").last.map(String.init) ?? ""
            let isRequired = !fake.isOptionalMember(place) && !optional.contains(name)
            guard isRequired, Self.isComparable(place, in: self) else { continue }
            found.append(Difference(place: place, kind: .missingInLive(fakeKinds.sorted())))
        }
        return found.sorted()
    }

    /// Returns whether only some of the objects at the parent path have the member at this path.
    ///
    /// Then all objects of the live service may lack the member.
    private func isOptionalMember(_ place: String) -> Bool {
        guard let slash = place.lastIndex(of: "/") else { return false }
        return valueCounts[place, default: 0] < valueCounts[String(place[..<slash]), default: 0]
    }

    /// Returns whether the other response could have contained a value at a path.
    ///
    /// It could if it has the object that surrounds the value. A missing item proves nothing,
    /// because a list or a map may be empty.
    private static func isComparable(_ place: String, in other: ResponseShape) -> Bool {
        guard !place.hasSuffix("/*"), let slash = place.lastIndex(of: "/") else { return false }
        return other.kinds[String(place[..<slash])]?.contains("an object") ?? false
    }
}
