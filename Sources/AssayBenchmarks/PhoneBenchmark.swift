internal import Contracts
internal import Phone
internal import Providers
internal import Values

/// Runs the workflow of a user account in a simulated app, from the first launch to the deletion of
/// the account.
///
/// The app calls only the fakes; no backend takes part.
enum PhoneBenchmark {
    private static let accountActions: [AppAction.Name] = [
        .launch, .purchase, .signUp, .logout, .signIn, .google, .refresh, .restore,
        .forgotPassword, .deleteAccount,
    ]

    static func runAccountWorkflow() {
        var services = Services(seed: 1)
        var app = AccountApp(installID: "INSTALL", receipts: [], seed: "bench", defects: [])
        var now = Instant(milliseconds: 1_790_000_000_000)
        for name in accountActions {
            var accountAction = AccountApp.AccountAction(name)
            accountAction.email = "ada@example.com"
            accountAction.password = "secret-1"
            var call = app.begin(accountAction)
            while let next = call {
                now = now + .seconds(1)
                call = app.take(fakeResponse(next, &services, now))
            }
            precondition(app.failure == nil, "\(name): \(app.failure ?? "")")
        }
    }

    private static func fakeResponse(
        _ call: AccountApp.Call,
        _ services: inout Services,
        _ now: Instant
    ) -> HTTPMessage.Response? {
        switch call {
        case .firebase(let request):
            services.respond(.firebase, to: request, at: now).response
        case .mail(var request):
            {
                let project = services.firebase.settings.project
                request.target = "/emulator/v1/projects/\(project)/oobCodes"
                return services.respond(.firebase, to: request, at: now).response
            }()
        case .revenueCat(let request):
            services.respond(.revenueCat, to: request, at: now).response
        case .backend: HTTPMessage.Response(200, json: ["ok": true])
        }
    }
}
