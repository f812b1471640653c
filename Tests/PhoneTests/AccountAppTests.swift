import Contracts
import Grammar
import Phone
import Providers
import Testing
import Values

/// The account workflow with the calls of the official clients (Firebase fact sheet, section 12).
@Suite("Account app")
struct AccountAppTests {
    /// The app before the fakes alone; what it tells its backend is kept.
    private struct AccountAppFixture {
        var services = Services(seed: 7)
        var told: [(route: String, id: String)] = []
        var calls: [String] = []
        var now = Instant(milliseconds: 1_790_000_000_000)
        /// Whether the backend deletes the user as an administrator.
        var deletesAtFirebase = false

        mutating func run(_ app: inout AccountApp, _ act: AccountApp.AccountAction) {
            var call = app.begin(act)
            while let next = call {
                now = now + .seconds(1)
                call = app.take(answer(next))
            }
        }

        private mutating func delete(_ uid: String) {
            let project = services.firebase.settings.project
            let request = HTTPMessage.Request(
                "POST",
                "/identitytoolkit.googleapis.com/v1/projects/\(project)/accounts:delete",
                fields: [HTTPMessage.Field("authorization", "Bearer owner")],
                body: JSONValue.object(["localId": .string(uid)]).bytes
            )
            _ = services.respond(.firebase, to: request, at: now)
        }

        private mutating func answer(_ call: AccountApp.Call) -> HTTPMessage.Response? {
            switch call {
            case .firebase(let request):
                let operation = request.path.split(separator: ":").last ?? ""
                calls.append(String(operation))
                return services.respond(.firebase, to: request, at: now).response
            case .mail(var request):
                request.target =
                    "/emulator/v1/projects/\(services.firebase.settings.project)/oobCodes"
                return services.respond(.firebase, to: request, at: now).response
            case .revenueCat(let request):
                calls.append(request.path)
                return services.respond(.revenueCat, to: request, at: now).response
            case .backend(let route, let values, _):
                told.append((route, values["id"] ?? ""))
                if deletesAtFirebase, route == "delete-account" { delete(values["id"] ?? "") }
                return HTTPMessage.Response(200, json: ["ok": true])
            }
        }
    }

    private func act(
        _ name: AppAction.Name,
        _ email: String = "ada@example.com",
        _ password: String = "secret-1"
    ) -> AccountApp.AccountAction {
        var act = AccountApp.AccountAction(name)
        act.email = email
        act.password = password
        return act
    }

    private func app(_ defects: Set<AccountApp.Defect> = []) -> AccountApp {
        AccountApp(installID: "INSTALL", receipts: [], seed: "seed", defects: defects)
    }

    @Test func `anonymous use becomes an account, and the uid names the customer`() {
        var (fixture, app) = (AccountAppFixture(), app())
        fixture.run(&app, act(.launch))
        let anonymous = app.revenueCatID
        #expect(anonymous.hasPrefix("$RCAnonymousID:") && app.uid == nil)
        fixture.run(&app, act(.purchase))
        fixture.run(&app, act(.signUp))
        #expect(app.failure == nil && app.uid != nil && app.revenueCatID == app.uid)
        #expect(
            fixture.calls == [
                "signUp", "/v1/receipts", "signUp", "lookup", "/v1/subscribers/identify",
            ]
        )
        #expect(fixture.told.map(\.id) == [anonymous, app.uid])
        let customer = fixture.services.revenueCat.customer(app.uid ?? "")
        #expect(customer?.ids.contains(anonymous) == true)
    }

    @Test func `the whole workflow ends where it should`() {
        var (fixture, app) = (AccountAppFixture(), app())
        for name in [AppAction.Name.launch, .signUp, .purchase, .logout] {
            fixture.run(&app, act(name))
            #expect(app.failure == nil, "\(name): \(app.failure ?? "")")
        }
        let after = app.revenueCatID
        #expect(after.hasPrefix("$RCAnonymousID:") && app.uid == nil)
        fixture.run(&app, act(.signIn))
        let uid = app.uid
        #expect(uid != nil && app.failure == nil)
        fixture.run(&app, act(.google))
        #expect(app.uid == uid, "the same verified address is the same person")
        fixture.run(&app, act(.refresh))
        fixture.run(&app, act(.forgotPassword))
        #expect(app.failure == nil && app.uid == uid)
        fixture.run(&app, act(.signIn))
        #expect(app.failure != nil, "the old password has stopped")
        #expect(app.revenueCatID == uid, "a sign-in that failed changes nobody")
        fixture.run(&app, act(.signIn, "ada@example.com", "new-secret-1"))
        #expect(app.failure == nil && app.uid == uid)
        fixture.run(&app, act(.restore))
        fixture.run(&app, act(.deleteAccount))
        #expect(app.failure == nil && app.uid == nil)
        #expect(fixture.told.contains { $0.route == "delete-account" && $0.id == uid })
        fixture.run(&app, act(.signIn, "ada@example.com", "new-secret-1"))
        #expect(app.failure != nil, "the account is gone")
    }

    @Test func `an account that the backend has deleted at Firebase is deleted`() {
        var (fixture, app) = (AccountAppFixture(), app())
        fixture.run(&app, act(.launch))
        fixture.run(&app, act(.signUp))
        fixture.deletesAtFirebase = true
        fixture.run(&app, act(.deleteAccount))
        #expect(app.failure == nil && app.uid == nil)
        #expect(fixture.calls.contains("delete"), "the app deletes it as well")
    }

    @Test func `a login that is current calls RevenueCat no more`() {
        var (fixture, app) = (AccountAppFixture(), app())
        fixture.run(&app, act(.launch))
        fixture.run(&app, act(.signUp))
        fixture.calls = []
        fixture.run(&app, act(.signIn))
        #expect(fixture.calls == ["signInWithPassword", "lookup"])
    }

    @Test func `a failed sign-in calls only Firebase`() {
        for (defects, isSafe) in [([], true), ([.failedSignInSwitches], false)]
            as [(Set<AccountApp.Defect>, Bool)]
        {
            var (fixture, app) = (AccountAppFixture(), app(defects))
            fixture.run(&app, act(.launch))
            fixture.run(&app, act(.signUp))
            let before = app.revenueCatID
            fixture.told = []
            fixture.run(&app, act(.signIn, "ada@example.com", "wrong"))
            #expect(fixture.told.isEmpty == isSafe)
            #expect((app.revenueCatID == before) == isSafe)
        }
    }
}
