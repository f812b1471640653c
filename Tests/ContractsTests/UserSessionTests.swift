import Contracts
import Foundation
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
        let data = try JSONEncoder().encode(session)
        #expect(try JSONDecoder().decode(UserSession.self, from: data) == session)
    }

    @Test func `a login of an earlier version is read`() throws {
        let data = try JSONEncoder().encode(Self.session)
        #expect(try JSONDecoder().decode(UserSession.self, from: data) == .login(Self.session))
    }
}
