import Grammar
import Providers
import Redaction
import Testing
import Values

/// Words that a caller chooses from a closed list: one that is not on it is never left aside.
@Suite("Values of closed lists")
struct AllowedValueTests {
    private static let now = Instant(milliseconds: 1_790_000_000_000)

    // MARK: Firebase, accounts:query

    /// Three users, each first by another measure.
    private func users() throws -> (ProviderClient<FirebaseState>, ids: [String]) {
        var talk = ProviderClient(FirebaseState(seed: 1))
        var ids: [String] = []
        for (name, email) in [("B", "c@x.com"), ("C", "a@x.com"), ("A", "b@x.com")] {
            let made = talk.say(
                "POST",
                "/identitytoolkit.googleapis.com/v1/accounts:signUp?key=k",
                [
                    "email": .string(email), "password": "password", "displayName": .string(name),
                    "returnSecureToken": true,
                ]
            )
            ids.append(made["/localId"]?.string ?? "")
            talk.wait(.seconds(60))
        }
        // The first one logs in again, so that he is the last who did.
        _ = talk.say(
            "POST",
            "/identitytoolkit.googleapis.com/v1/accounts:signInWithPassword?key=k",
            ["email": "c@x.com", "password": "password", "returnSecureToken": true]
        )
        talk.fields = [HTTPMessage.Field("Authorization", "Bearer owner")]
        return (talk, ids)
    }

    private static let path =
        "/identitytoolkit.googleapis.com/v1/projects/demo-project/accounts:query"

    private func order(_ body: JSONValue) throws -> (status: Int, emails: [String]) {
        var (talk, _) = try users()
        let said = talk.say("POST", Self.path, body)
        let list = said["/userInfo"]?.array ?? []
        return (said.status, list.map { String(($0["email"]?.string ?? "").prefix(1)) })
    }

    @Test(
        "a query sorts by what it is asked to",
        arguments: [
            ("CREATED_AT", "ASC", "cab"), ("CREATED_AT", "DESC", "bac"), ("NAME", "ASC", "bca"),
            ("NAME", "DESC", "acb"), ("USER_EMAIL", "ASC", "abc"), ("USER_EMAIL", "DESC", "cba"),
            ("LAST_LOGIN_AT", "ASC", "abc"), ("LAST_LOGIN_AT", "DESC", "cba"),
        ]
    )
    func sorts(field: String, order: String, expected: String) throws {
        let found = try self.order(["sortBy": .string(field), "order": .string(order)])
        #expect(found.status == 200)
        #expect(found.emails.joined() == expected)
    }

    @Test(
        "without a field it is the order of ids",
        arguments: ["USER_ID", "", "SORT_BY_FIELD_UNSPECIFIED"]
    )
    func sortsByID(field: String) throws {
        var (talk, ids) = try users()
        let said = talk.say("POST", Self.path, ["sortBy": .string(field)])
        #expect(said["/userInfo"]?.array?.map { $0["localId"]?.string } == ids.sorted())
    }

    @Test(
        "a field or an order that there is not is refused by its name",
        arguments: [
            ("sortBy", "LAST_LOGIN"), ("sortBy", "created_at"), ("order", "DOWN"),
            ("order", "desc"),
        ]
    )
    func refuses(name: String, word: String) throws {
        var (talk, _) = try users()
        let body = JSONValue.object(JSONObject(members: [.init(key: name, value: .string(word))]))
        let said = talk.say("POST", Self.path, body)
        #expect(said.status == 400)
        #expect(said["/error/status"] == "INVALID_ARGUMENT")
        #expect(said["/error/message"]?.string?.contains(word) == true)
        let count = talk.say("POST", Self.path, ["returnUserInfo": false])
        #expect(count["/recordsCount"] == "3")
        #expect(count["/userInfo"] == nil)
    }

    // MARK: RevenueCat, REST v2

    @Test func `REST v2 accepts any project unless a switch restricts it`() throws {
        var settings = RevenueCatSettings()
        settings.project = "proj1"
        for (isStrict, expected) in [(nil, 200), (false, 200), (true, 404)] as [(Bool?, Int)] {
            settings.knowsItsProjectAlone = isStrict
            var talk = ProviderClient(
                RevenueCatState(key: Secret("sk"), settings: settings),
                authorization: "Bearer sk"
            )
            talk.say(
                "POST",
                "/v1/subscribers/ada/entitlements/premium/promotional",
                ["duration": "daily"]
            )
            let own = talk.say("GET", "/v2/projects/proj1/customers/ada")
            #expect(own.status == 200)
            let other = talk.say("GET", "/v2/projects/proj2/customers/ada")
            #expect(other.status == expected)
            if expected == 404 {
                #expect(other["/type"] == "resource_missing")
                #expect(other["/message"] == "The project was not found.")
            }
        }
    }

    @Test func `an old state without this switch is readable`() throws {
        var saved = try JSONValue(encoding: RevenueCatSettings())
        #expect(saved["knowsItsProjectAlone"] == nil)
        saved.set(JSONPointer(tokens: ["project"]), to: "old")
        #expect(try saved.decoded(as: RevenueCatSettings.self).project == "old")
    }

    // MARK: Members of a control's body

    private static let members = [
        ControlMember("text", .text, ""), ControlMember("word", .choice(["one", "two"]), ""),
        ControlMember("flag", .flag, ""), ControlMember("whole", .integer, ""),
        ControlMember("number", .number, ""), ControlMember("texts", .stringList, ""),
        ControlMember("list", .list, ""), ControlMember("object", .object, ""),
        ControlMember("moment", .timestamp, ""), ControlMember("address", .address, ""),
    ]

    private func refusal(_ name: String, _ text: String) throws -> ControlRefusal? {
        let value = try JSONValue(parsing: text)
        let body = JSONObject(members: [.init(key: name, value: value)])
        do throws(ControlRefusal) {
            try Self.members.checkMembers(body, of: "PUT /x") { $0.hasPrefix("http://127.0.0.1") }
            return nil
        } catch {
            return error
        }
    }

    @Test(
        "a value that fits",
        arguments: [
            ("text", #""""#), ("text", #""x""#), ("word", #""two""#), ("flag", "false"),
            ("whole", "0"), ("whole", "-5"), ("number", "0.5"), ("number", "5"),
            ("texts", "[]"), ("texts", #"["a", ""]"#), ("list", "[1, null]"), ("object", "{}"),
            ("moment", "946684800000"), ("moment", #""2026-09-24T12:00:00Z""#),
            ("address", #""http://127.0.0.1/x""#),
        ]
    )
    func fits(name: String, text: String) throws {
        #expect(try refusal(name, text) == nil)
        #expect(try refusal(name, "null") == nil, "null is nothing")
    }

    @Test(
        "a value that does not",
        arguments: [
            ("text", "5", "'text' takes a string, not a number"),
            ("word", #""three""#, "'word' is 'three', which is not one of one, two"),
            ("word", #""ONE""#, "'word' is 'ONE', which is not one of one, two"),
            ("word", "true", "'word' takes a string, not a boolean"),
            ("flag", #""true""#, "'flag' takes true or false, not a string"),
            ("flag", "1", "'flag' takes true or false, not a number"),
            ("whole", "1.5", "'whole' takes a whole number, not a number"),
            ("whole", #""1""#, "'whole' takes a whole number, not a string"),
            ("number", #""1""#, "'number' takes a number, not a string"),
            ("texts", #""a""#, "'texts' takes a list of strings, not a string"),
            ("texts", "[null]", "'texts' takes a list of strings, and one is null"),
            ("list", "{}", "'list' takes a list, not an object"),
            ("object", "[]", "'object' takes an object, not an array"),
            ("moment", "true", "'moment' takes a time such as 2026-09-24T12:00:00Z"),
            ("moment", "1.5", "'moment' takes a time such as 2026-09-24T12:00:00Z"),
            ("address", "5", "'address' takes a URL, not a number"),
            ("address", #""http://x/""#, "'address' is 'http://x/', which is not an http URL on"),
            ("adress", "5", "'adress' is not a member of PUT /x"),
        ]
    )
    func doesNotFit(name: String, text: String, error: String) throws {
        let refusal = try #require(try refusal(name, text))
        #expect(refusal.status == 400)
        #expect(refusal.text.hasPrefix(error), "\(refusal.text)")
    }

    @Test func `each kind is described as JSON Schema says it`() {
        let types = Self.members.map { $0.schema["type"] }
        #expect(
            types == [
                "string", "string", "boolean", "integer", "number", "array", "array", "object",
                ["string", "number"], "string",
            ]
        )
        #expect(Self.members[1].schema["enum"] == ["one", "two"])
        #expect(Self.members[5].schema["items"] == ["type": "string"])
        #expect(ControlMember("x", .text, "What it is.").schema["description"] == "What it is.")
    }

    @Test func `every provider describes what it takes, once and in words`() {
        for provider in Services.providers {
            for control in provider.controls {
                let names = control.members.map(\.name)
                #expect(Set(names).count == names.count, "\(control.id)")
                #expect(!control.summary.isEmpty && control.summary.hasSuffix("."), "\(control.id)")
                for member in control.members {
                    #expect(!member.summary.isEmpty, "\(control.id) \(member.name)")
                }
                #expect(control.path.hasPrefix("/"), "\(control.id)")
                #expect(["GET", "POST", "PUT", "PATCH", "DELETE"].contains(control.method))
                #expect(names.contains("settle") == control.sendsEvents, "\(control.id)")
            }
        }
    }
}
