internal import Contracts
internal import Grammar
internal import Judging
internal import Values

/// The members of request and response bodies, by the names that backends give them.
enum RequestMembers {
    /// The names of the user and the device in the bodies that are tried if the code shows none.
    private static let commonBodyNames = [
        ["appUserId", "deviceId"], ["app_user_id", "device_id"], ["userId", "deviceId"],
        ["user_id", "device_id"], ["id"], ["email", "password"],
    ]

    /// Returns the bodies that are tried at a route: the one that its code reads, and common ones if
    /// the code does not show the name of the user.
    static func bodies(of route: SourceSurvey.Route) -> [JSONValue] {
        let body = body(route.bodyNames)
        let isKnown =
            body.templatePointersInJSON["id"] != nil || route.bodyNames.contains(where: isPassword)
        return isKnown ? [body] : [body] + commonBodyNames.map(Self.body)
    }

    static let idWords = [
        "id", "userid", "appuserid", "uid", "customerid", "externalid", "accountid", "user",
    ]

    /// Returns the path and the value of an ID in a response, if the request did not contain the
    /// value.
    static func id(in registrationResponse: JSONValue, sentBody: String) -> (
        JSONPointer, JSONValue
    )? {
        let valuePaths = registrationResponse.valuePaths.filter { pointer in
            let name = (pointer.tokens.last ?? "").lowercased().filter { $0.isLetter }
            return idWords.contains(name)
        }
        for pointer in valuePaths {
            switch registrationResponse[pointer] {
            case .string(let text) where !text.isEmpty && !sentBody.contains(text):
                return (pointer, .string(text))
            case .number(let number): return (pointer, .number(number))
            default: continue
            }
        }
        // A backend may call its users players or crew.
        let others = ids(in: registrationResponse, sentBody: sentBody).filter { id in
            let name = (id.pointer.tokens.last ?? "").lowercased()
            return !wordsOfOtherIDs.contains(where: name.contains)
        }
        return others.first.map { ($0.pointer, $0.value) }
    }

    /// Words in the names of IDs in the response to a registration that name no user.
    private static let wordsOfOtherIDs = [
        "token", "session", "device", "install", "request", "trace", "correlation", "product",
        "plan", "order", "transaction", "subscription", "event", "client",
    ]

    /// Returns the paths and the values of all members of a response whose names end with "ID", if
    /// the request did not contain the values.
    static func ids(in response: JSONValue, sentBody: String) -> [(
        pointer: JSONPointer, value: JSONValue
    )] {
        response.valuePaths.compactMap { pointer in
            let name = (pointer.tokens.last ?? "").lowercased().filter(\.isLetter)
            guard name.hasSuffix("id"), let value = response[pointer] else { return nil }
            switch value {
            case .string(let text) where !text.isEmpty && !sentBody.contains(text):
                return (pointer, value)
            case .number: return (pointer, value)
            default: return nil
            }
        }
    }

    /// Returns the path of a secret in a response that the request did not contain, with which a
    /// phone proves later that it registered the user; nil if there is none.
    static func proof(in response: JSONValue, sentBody: String) -> JSONPointer? {
        response.valuePaths.first { pointer in
            let name = (pointer.tokens.last ?? "").lowercased().filter(\.isLetter)
            guard case .string(let text) = response[pointer], text.count >= 16 else { return false }
            return ["token", "proof", "secret"].contains { name.hasSuffix($0) }
                && !sentBody.contains(text)
        }
    }

    /// Returns the path of a session token in the response to a login; nil if there is none.
    static func session(in response: JSONValue) -> JSONPointer? {
        let words = ["accesstoken", "token", "jwt", "idtoken", "sessiontoken", "session"]
        let candidates: [(rank: Int, pointer: JSONPointer)] = response.valuePaths.compactMap {
            let name = ($0.tokens.last ?? "").lowercased().filter(\.isLetter)
            guard let text = response[$0]?.string, text.count >= 16,
                let rank = words.firstIndex(of: name)
            else { return nil }
            return (rank, $0)
        }
        return candidates.min { $0.rank < $1.rank }?.pointer
    }

    /// Returns the body to try after a refused one: with the members that the response reports as
    /// missing, and without those that it refuses; nil if the response names none.
    static func body(after refusal: HTTPMessage.Response, of body: JSONValue) -> JSONValue? {
        let names = (body.object?.members ?? []).map(\.key)
        let choices = expectedValues(in: refusal).filter { body[$0.key] != .string($0.value) }
        if !choices.isEmpty, choices.allSatisfy({ names.contains($0.key) }) {
            var members = body.object ?? [:]
            for (name, value) in choices { members[name] = .string(value) }
            return .object(members)
        }
        let missing = missingNames(in: refusal).filter { !names.contains($0) }
        if !missing.isEmpty { return Self.body(names + missing) }
        let refused = refusedNames(in: refusal, of: names)
            .filter { body[$0] == .string(unknownValue) }
        return refused.isEmpty ? nil : Self.body(names.filter { !refused.contains($0) })
    }

    /// Returns the names of members that a response reports as missing.
    ///
    /// Known forms are those of FastAPI (`{"loc": ["body", "email"], "msg": "Field required"}`), of
    /// validators that use JSON Schema (`must have required property 'email'`) and of code that
    /// writes its own messages (`email is required`).
    static func missingNames(in response: HTTPMessage.Response) -> [String] {
        guard (400..<500).contains(response.status) else { return [] }
        let details = response.bodyJSON?["detail"]?.array ?? []
        let located = details.compactMap { detail -> String? in
            guard detail["type"]?.string?.contains("missing") == true,
                let location = detail["loc"]?.array?.compactMap(\.string), location.first == "body",
                location.count == 2
            else { return nil }
            return location[1]
        }
        let text = String(decoding: response.body.prefix(4096), as: UTF8.self)
        let required = text.matches(of: #/required property '([A-Za-z_]\w*)'/#).map {
            String($0.output.1)
        }
        let reported = text.matches(of: #/([A-Za-z_]\w*)['"`]? (?:is|are) (?:required|missing)/#)
            .map { String($0.output.1) }
        return (located + required + reported).uniqued()
    }

    /// Returns the first value that each refused member may have, such as `mentor` for
    /// `Input should be 'mentor' or 'apprentice'` of FastAPI.
    static func expectedValues(in response: HTTPMessage.Response) -> [String: String] {
        guard (400..<500).contains(response.status) else { return [:] }
        var values: [String: String] = [:]
        for detail in response.bodyJSON?["detail"]?.array ?? [] {
            guard let location = detail["loc"]?.array?.compactMap(\.string), location.count == 2,
                let expected = detail["ctx"]?["expected"]?.string,
                let value = expected.firstMatch(of: /'([^']+)'/)?.output.1
            else { continue }
            values[location[1]] = String(value)
        }
        return values
    }

    /// Returns the names of sent members that a response refuses, such as `referralCode` in
    /// `Invalid referral code`.
    ///
    /// Only members without a plausible value count. The backend probably accepts a request without
    /// them.
    static func refusedNames(in response: HTTPMessage.Response, of names: [String]) -> [String] {
        guard (400..<500).contains(response.status) else { return [] }
        let text = words(of: String(decoding: response.body.prefix(4096), as: UTF8.self))
        return names.filter { name in
            value(of: name) == unknownValue
                && (text.contains(words(of: name)) || text.contains(" \(name.lowercased()) "))
        }
    }

    /// Returns the words of a text or of a name, such as ` referral code ` for `referralCode`: in
    /// lower case, with one space before, between and after them.
    private static func words(of text: String) -> String {
        var words = " "
        var previous: Character = " "
        for character in text {
            if character.isUppercase, previous.isLowercase { words.append(" ") }
            let word = character.isLetter || character.isNumber ? character.lowercased() : " "
            if word != " " || words.last != " " { words += word }
            previous = character
        }
        return words.last == " " ? words : words + " "
    }

    /// The value of a member whose meaning its name does not show.
    private static let unknownValue = "x"

    /// Returns a JSON body with a plausible value for each name.
    ///
    /// A body with a password belongs to an account. Its values depend on the ID of the app's
    /// installation, which stays the same when the backend chooses the ID of the user.
    static func body(_ names: [String]) -> JSONValue {
        var body: JSONObject = [:]
        let isAccount = names.contains(where: isPassword)
        for name in names where !isTokenOfPhone(name) {
            let value = value(of: name)
            body[name] = .string(
                isAccount && value != "{{id}}" || isAccount && isNameOfAccount(name)
                    ? value.replacing("{{id}}", with: "{{device}}") : value
            )
        }
        return .object(body)
    }

    static func isPassword(_ name: String) -> Bool {
        let lowercaseName = name.lowercased().filter(\.isLetter)
        return lowercaseName.contains("password")
            || ["pass", "passwd", "pwd"].contains(lowercaseName)
    }

    private static func isNameOfAccount(_ name: String) -> Bool {
        let lowercaseName = name.lowercased().filter(\.isLetter)
        return lowercaseName.contains("name") || lowercaseName == "account"
    }

    /// Returns whether a member holds a token of the phone's push service, which a phone without
    /// pushes does not have.
    private static func isTokenOfPhone(_ name: String) -> Bool {
        let lowercaseName = name.lowercased().filter { $0.isLetter }
        return ["playerid", "pushtoken", "fcmtoken", "subscriptionid"]
            .contains(lowercaseName)
    }

    /// Returns whether a member of a request holds the ID of a user.
    static func isID(_ name: String) -> Bool {
        let lowercaseName = name.lowercased().filter { $0.isLetter }
        return idWords.dropLast().contains(lowercaseName) || lowercaseName.hasSuffix("userid")
    }

    static func value(of name: String) -> String {
        let lowercaseName = name.lowercased().filter { $0.isLetter }
        if isID(name) { return "{{id}}" }
        // Two IDs may differ only in their case, which mail addresses ignore.
        if lowercaseName.contains("mail") { return "{{device}}@example.com" }
        if lowercaseName.contains("device") { return "{{device}}" }
        if lowercaseName == "platform" || lowercaseName == "os" { return "{{platform}}" }
        if lowercaseName.contains("time") || lowercaseName.hasSuffix("at") {
            return "{{timestamp}}"
        }
        if lowercaseName == "source" { return "{{source}}" }
        if isPassword(name) { return "Pw-{{id}}" }
        return lowercaseName.contains("name") || lowercaseName == "account"
            ? "{{id}}" : unknownValue
    }

    /// Returns whether a member of a login names the user of the phone before the login, or proves
    /// that the phone belongs to this user.
    static func isOfEarlierUser(_ name: String) -> Bool {
        let words = [
            "current", "anonymous", "previous", "claim", "proof", "devicetoken", "appuser",
        ]
        return words.contains { name.lowercased().filter(\.isLetter).contains($0) }
    }
}
