package import Values

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
        at valuePath: String,
        hasArbitraryKeys: Bool,
        _ userNamedMembers: Set<String>
    ) {
        kinds[valuePath, default: []].insert(value.kind)
        valueCounts[valuePath, default: 0] += 1
        switch value {
        case .object(let object):
            for member in object.members {
                let name = hasArbitraryKeys ? "*" : member.key
                add(
                    member.value,
                    at: valuePath + "/" + name,
                    hasArbitraryKeys: !hasArbitraryKeys && userNamedMembers.contains(member.key),
                    userNamedMembers
                )
            }
        case .array(let items):
            for item in items {
                add(item, at: valuePath + "/*", hasArbitraryKeys: false, userNamedMembers)
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

        package let valuePath: String
        package let kind: Kind

        package static func < (left: Difference, right: Difference) -> Bool {
            left.valuePath < right.valuePath
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
        for (valuePath, live) in kinds {
            guard let fakeKinds = fake.kinds[valuePath] else {
                if Self.isComparable(valuePath, in: fake) {
                    found.append(
                        Difference(valuePath: valuePath, kind: .missingInFake(live.sorted()))
                    )
                }
                continue
            }
            let (left, right) = (live.subtracting(["null"]), fakeKinds.subtracting(["null"]))
            if !left.isEmpty, !right.isEmpty, left.isDisjoint(with: right) {
                found.append(
                    Difference(
                        valuePath: valuePath,
                        kind: .kinds(live: left.sorted(), fake: right.sorted())
                    )
                )
            }
        }
        for (valuePath, fakeKinds) in fake.kinds where kinds[valuePath] == nil {
            let name = valuePath.split(separator: "/").last.map(String.init) ?? ""
            let isRequired = !fake.isOptionalMember(valuePath) && !optional.contains(name)
            guard isRequired, Self.isComparable(valuePath, in: self) else { continue }
            found.append(Difference(valuePath: valuePath, kind: .missingInLive(fakeKinds.sorted())))
        }
        return found.sorted()
    }

    /// Returns whether only some of the objects at the parent path have the member at this path.
    ///
    /// A member that some objects of the fake lack may be missing from all objects of the live
    /// service.
    private func isOptionalMember(_ valuePath: String) -> Bool {
        guard let slash = valuePath.lastIndex(of: "/") else { return false }
        return valueCounts[valuePath, default: 0]
            < valueCounts[String(valuePath[..<slash]), default: 0]
    }

    /// Returns whether the other response could have contained a value at a path.
    ///
    /// It could if it has the object that surrounds the value. A missing item proves nothing,
    /// because a list or a map may be empty.
    private static func isComparable(_ valuePath: String, in other: ResponseShape) -> Bool {
        guard !valuePath.hasSuffix("/*"), let slash = valuePath.lastIndex(of: "/") else {
            return false
        }
        return other.kinds[String(valuePath[..<slash])]?.contains("an object") ?? false
    }
}
