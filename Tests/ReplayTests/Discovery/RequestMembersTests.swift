import Testing
import Values

@testable import Replay

/// The next registration that `assay init` tries after a refused one.
@Suite("Members of requests")
struct RequestMembersTests {
    private static func names(after body: String, _ status: Int = 400, of names: [String])
        -> [String]?
    {
        let refusal = HTTPMessage.Response(status, body: Array(body.utf8))
        let next = RequestMembers.body(after: refusal, of: RequestMembers.body(names))
        return next?.object?.members.map(\.key)
    }

    @Test(
        "a refused member without a plausible value is left out",
        arguments: [
            #"{"error":"Invalid referral code"}"#, #"{"field":"referralCode","error":"unknown"}"#,
            "The REFERRAL_CODE does not exist", #"{"detail":"referral-code: not found"}"#,
        ]
    )
    func refusedMember(body: String) {
        let sent = ["email", "password", "name", "referralCode"]
        #expect(Self.names(after: body, of: sent) == ["email", "password", "name"])
        #expect(Self.names(after: body, 500, of: sent) == nil)
        #expect(Self.names(after: body, of: ["email", "password"]) == nil)
    }

    @Test("a member with a plausible value stays, whatever the response says about it")
    func plausibleMember() {
        let body = #"{"error":"Invalid email, password or name"}"#
        #expect(Self.names(after: body, of: ["email", "password", "name"]) == nil)
    }

    @Test("a missing member is added before a refused one is left out")
    func missingMember() {
        let body = #"{"errors":["must have required property 'email'","invalid code"]}"#
        #expect(Self.names(after: body, of: ["code"]) == ["code", "email"])
        #expect(Self.names(after: body, of: ["code", "email"]) == ["email"])
    }

    @Test("a member gets the first value that the response allows")
    func allowedValue() {
        let detail = #"{"type":"enum","loc":["body","role"],"ctx":{"expected":"'a b' or 'c'"}}"#
        let body = "{\"detail\":[\(detail)]}"
        let refusal = HTTPMessage.Response(422, body: Array(body.utf8))
        let next = RequestMembers.body(after: refusal, of: ["role": "x", "name": "n"])
        #expect(next == ["role": "a b", "name": "n"])
        // A value that is sent already, and a member that is not, are no reason to try again.
        #expect(RequestMembers.body(after: refusal, of: ["role": "a b"]) == nil)
        #expect(RequestMembers.body(after: refusal, of: ["name": "n"]) == nil)
    }

    @Test("a member is no part of a longer word", arguments: ["decode failed", "codes", "encoder"])
    func longerWord(body: String) { #expect(Self.names(after: body, of: ["code"]) == nil) }

    @Test("a message of the backend's own code names a missing member")
    func ownMessage() {
        let names = Self.names(after: #"{"error": "'password' is required"}"#, of: ["email"])
        #expect(names == ["email", "password"])
        #expect(
            Self.names(after: "email and password are missing", of: ["id"]) == ["id", "password"]
        )
        #expect(Self.names(after: "nothing is right", of: ["id"]) == nil)
    }

    @Test("a name is not the ID of a user, whatever a request sends under it")
    func nameAndID() {
        #expect(["userId", "app_user_id", "uid", "owner_user_id"].allSatisfy(RequestMembers.isID))
        #expect(
            ["name", "user", "username", "display_name"].allSatisfy { !RequestMembers.isID($0) }
        )
    }
}
