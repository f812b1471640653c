import Contracts
import Replay
import Testing

/// What `assay init` says about the first thing that is wrong.
@Suite("The defect of a discovered profile")
struct ProfileDefectTests {
    @Test("a refused event asks for a value of the environment only if the backend fails")
    func refusedEvent() {
        for status in 300..<600 {
            let defect = ProfileDefect.refusedEvent(
                path: "/hook",
                title: "RevenueCat",
                status: status
            )
            #expect(
                defect.text.hasPrefix("POST /hook returns \(status) for an event of RevenueCat.")
            )
            #expect(defect.lines.isEmpty == (400..<500).contains(status))
        }
    }

    @Test("a request that creates a user and is refused is not a missing request")
    func refusedUser() {
        let problem = "a user cannot be created: POST /signup returns 429"
        var profile = Profile()
        #expect(ProfileDefect.missingUser(problem, profile).text == "no request creates a user.")
        #expect(ProfileDefect.missingUser(problem, profile).lines.first == "users:")
        profile.creation = .request(Profile.Endpoint(method: "POST", path: "/signup"))
        let refused = ProfileDefect(text: problem + ".", lines: [])
        #expect(ProfileDefect.missingUser(problem, profile) == refused)
        profile = Profile()
        profile.namesOfDefaultEndpoints.remove("register")
        #expect(ProfileDefect.missingUser(problem, profile) == refused)
    }
}
