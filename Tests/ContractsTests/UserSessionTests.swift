import Contracts
import Testing
import Values

@Suite("Sessions of users in saved runs")
struct UserSessionTests {
    private static let token = JSONPointer(tokens: ["data", "token"])
    private static let session = Profile.Session(
        endpoint: Profile.Endpoint(method: "POST", path: "/login", body: ["a": 1]),
        token: token
    )

    @Test(
        "a session is read as it was written",
        arguments: [UserSession.login(session), .creation(token: token)]
    )
    func roundTrip(session: UserSession) throws {
        #expect(try JSONValue(encoding: session).decoded() == session)
    }

    @Test func `a login of an earlier version is read`() throws {
        let saved = try JSONValue(encoding: Self.session)
        #expect(try saved.decoded() == UserSession.login(Self.session))
    }
}
