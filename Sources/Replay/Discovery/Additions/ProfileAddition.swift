package import Contracts
internal import Grammar
package import Values

/// A block that completes a profile: a key with a request, made from a route in the backend's files.
///
/// The block begins with the example of the key. A route in the files replaces the path, and the
/// members that the route reads replace the members of the body.
package struct ProfileAddition: Sendable {
    /// The path of the key, such as `endpoints.login`.
    package let path: [String]
    package let value: JSONValue
    /// The entries to add below the parent of the key: the key, and all keys that it requires.
    private let entries: JSONObject
    /// The route in the backend's files; nil if the block is only the example.
    package let route: SourceSurvey.Route?

    /// A key that can be added, and the words in the path of a route that suits it.
    private struct Suitable {
        let key: String
        let method: String
        /// The words, the most specific one first.
        let words: [String]

        init(_ key: String, _ method: String, _ words: String...) {
            (self.key, self.method, self.words) = (key, method, words)
        }
    }

    private static let table = [
        Suitable("endpoints.login", "POST", "login", "signin", "sign-in", "sessions"),
        Suitable("endpoints.register", "POST", "register", "signup", "sign-up", "users"),
        Suitable("endpoints.reconcile", "POST", "reconcile", "resync", "sync", "restore"),
        Suitable("endpoints.delete-account", "DELETE", "account", "me", "users", "user"),
        Suitable("endpoints.protected", "GET", "me", "profile", "account"),
        Suitable("accounts.create", "POST", "accounts", "signup", "sign-up", "register"),
        Suitable("users.create", "POST", "users", "signup", "sign-up", "register"),
        Suitable("users.login", "POST", "login", "signin", "sign-in", "sessions"),
        Suitable("session.login", "POST", "login", "signin", "sign-in", "sessions"),
    ]

    /// The names that backends give to the value of a template, in lowercase without separators.
    private static let memberNames: [(template: String, names: [String])] = [
        ("account", ["email", "account", "accountid", "username", "mail"]),
        ("password", ["password", "pass", "passwd", "secret"]),
        ("id", ["id", "userid", "appuserid", "uid", "currentappuserid"]),
        ("device", ["device", "deviceid", "installid", "installationid"]),
        ("proof", ["devicetoken", "proof", "token"]),
        ("platform", ["platform", "os"]),
        (TemplateScope.ProfileSlot.idTokenName, ["idtoken"]),
        ("source", ["source"]), ("timestamp", ["timestamp"]),
    ]

    /// Finds the block for a key.
    ///
    /// Returns nil for a key that the profile's format does not have.
    ///
    /// - Parameters:
    ///   - name: The key, or the end of its path, such as `login` or `endpoints.login`.
    ///   - survey: The facts found in the backend's files.
    package init?(key name: String, _ survey: SourceSurvey) {
        let reference = FileFormat.profile.reference
        let preferred = Self.table.first {
            $0.key == name || $0.key.hasSuffix("." + name)
                || $0.key.hasPrefix(name + ".")
                    && name != "endpoints"
        }?.key
        guard let location = reference.keyLocations(named: preferred ?? name).first,
            let file = reference.example(of: location)
        else { return nil }
        let path = location.path
        let parent =
            path.count == 1
            ? JSONObject(members: file.members.filter { $0.key == path[0] })
            : path.dropLast().reduce(JSONValue?.some(.object(file))) { $0?[$1] }?.object
        guard var parent, let last = path.last, let example = parent[last] else { return nil }
        let suitable = Self.table.first { $0.key == location.text }
        let route = suitable.flatMap { Self.route($0, in: survey) }
        let value = route.map { Self.request($0, of: location, like: example) } ?? example
        parent[last] = value
        (self.path, self.value, self.route, entries) = (path, value, route, parent)
    }

    /// Returns the blocks for all keys of the table that a profile lacks and whose route the files
    /// show.
    ///
    /// - Parameters:
    ///   - profile: The profile.
    ///   - survey: The facts found in the backend's files.
    /// - Returns: The blocks, in the order of the table.
    package static func missing(
        from profile: Profile,
        _ survey: SourceSurvey
    ) -> [ProfileAddition] {
        let names = table.map(\.key).filter { key in
            let name = key.split(separator: ".").last.map(String.init) ?? ""
            return key.hasPrefix("endpoints.")
                && (profile.endpoints[name] == nil
                    || profile.namesOfDefaultEndpoints.contains(name))
        }
        let additions = names.compactMap { ProfileAddition(key: $0, survey) }
        return additions.filter { $0.route != nil }
    }

    /// Returns the route whose path has the first possible word of a key.
    private static func route(
        _ suitable: Suitable,
        in survey: SourceSurvey
    ) -> SourceSurvey.Route? {
        for word in suitable.words {
            let route = survey.routes.first { route in
                let parts = route.path.lowercased().split(separator: "/").map(String.init)
                return route.method == suitable.method && parts.last { !$0.hasPrefix("{{") } == word
            }
            if let route { return route }
        }
        return nil
    }

    /// Returns the request to a route, with the other keys of an example.
    private static func request(
        _ route: SourceSurvey.Route,
        of location: GrammarReference.KeyLocation,
        like example: JSONValue
    ) -> JSONValue {
        let templates = Set(location.key.shape.templateWords.map(\.word))
        var body = JSONObject()
        for name in route.bodyNames {
            let plainName = name.lowercased().filter { $0 != "_" && $0 != "-" }
            let member = memberNames.first {
                templates.contains($0.template) && $0.names.contains(plainName)
            }
            if let member { body[name] = .string("{{\(member.template)}}") }
        }
        var request: JSONObject = [route.method.lowercased(): .string(route.path)]
        for member in example.object?.members ?? []
        where !["get", "post", "put", "patch", "delete"].contains(member.key) {
            let isBody = member.key == "body" && !body.members.isEmpty
            request[member.key] = isBody ? .object(body) : member.value
        }
        return .object(request)
    }

    // MARK: Text

    /// The lines of the block with the keys above it, as YAML.
    package var lines: [String] { YAMLNode.file(nodes(below: path.dropLast())).lines }

    private func nodes(below path: ArraySlice<String>) -> [YAMLNode.Entry] {
        guard let key = path.first else {
            return YAMLNode.exampleEntries(entries, depth: self.path.count - 1)
        }
        return [YAMLNode.Entry(key, .block(nodes(below: path.dropFirst())))]
    }

    /// The result of adding a block to the text of a profile.
    package enum Result: Hashable, Sendable {
        case text(String)
        /// The profile has the key already.
        case alreadyPresent
        /// The key above is written on one line, so the user has to insert the block.
        case needsBlockStyle
    }

    /// Returns the text of a profile with the block.
    package func added(to profile: String) -> Result {
        var profileLines = profile.lines
        var start = 0
        for (depth, key) in path.enumerated() {
            let indentation = String(repeating: " ", count: 2 * depth)
            let end =
                profileLines[start...].firstIndex {
                    depth > 0 && !$0.isEmpty && !$0.hasPrefix(indentation)
                } ?? profileLines.count
            let line = profileLines[start..<end].firstIndex {
                $0 == indentation + key + ":" || $0.hasPrefix(indentation + key + ": ")
            }
            guard let line else {
                let blockLines = Array(lines.dropFirst(depth))
                profileLines.insert(contentsOf: blockLines, at: depth == 0 ? end : start)
                return .text(profileLines.joined(separator: "\n") + "\n")
            }
            if depth == path.count - 1 { return .alreadyPresent }
            let rest = profileLines[line].dropFirst(indentation.count + key.count + 1)
            guard rest.allSatisfy(\.isWhitespace) || rest.hasPrefix(" #") else {
                return .needsBlockStyle
            }
            start = line + 1
        }
        return .alreadyPresent
    }
}

extension String {
    /// The lines of the string, without the empty line after the last line break.
    fileprivate var lines: [String] {
        var lines = split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        if lines.last == "" { lines.removeLast() }
        return lines
    }
}
