import Testing

@testable import Replay

/// The project whose ID tokens a backend accepts is found in its files and variables.
@Suite("Project of ID tokens")
struct TokenProjectTests {
    private static let account = #"{"type": "service_account", "project_id": "acme-5f3a"}"#

    @Test(
        "a key file or the settings name the project",
        arguments: [
            ("firebase-service-account.json", account), ("secrets/serviceAccountKey.json", account),
            ("config/acme-firebase-adminsdk-x1.json", account),
            ("firebase_key.json", account), ("google-credentials.json", account),
            (".firebaserc", #"{"projects": {"default": "acme-5f3a"}}"#),
        ]
    )
    func named(path: String, text: String) {
        #expect(TokenProject.id(in: .init(path: path, text: text)) == "acme-5f3a")
        #expect(SourceSurvey.isManifest(path))
        #expect(SourceSurvey([.init(path: path, text: text)]).tokenProject == "acme-5f3a")
    }

    @Test(
        "another file names none",
        arguments: [
            ("package.json", account), ("firebase.json", #"{"project_id": "other"}"#),
            ("firebase.json", #"{"type": "service_account", "project_id": ""}"#),
            ("firebase.json", "["), (".firebaserc", #"{"projects": ["default"]}"#),
        ]
    )
    func unnamed(path: String, text: String) {
        #expect(TokenProject.id(in: .init(path: path, text: text)) == nil)
    }

    @Test func `a service account in a variable comes before the name of the project`() {
        let name = ["FIREBASE_PROJECT_ID": "name", "PROJECT_ID": "other"]
        #expect(TokenProject.id(in: name) == "name")
        let both = name.merging(["GOOGLE_CREDENTIALS": Self.account]) { $1 }
        #expect(TokenProject.id(in: both) == "acme-5f3a")
        #expect(TokenProject.id(in: ["PROJECT_ID": "other", "A": "service_account"]) == nil)
    }

    @Test func `the project that the code falls back to is the last resort`() {
        let survey = SourceSurvey([
            .init(path: "a.js", text: "const p = process.env.FIREBASE_PROJECT_ID || 'acme-5f3a';")
        ])
        #expect(TokenProject.id(in: survey.variables) == "acme-5f3a")
        #expect(TokenProject.id(in: [SourceSurvey.Variable]()) == nil)
    }
}
