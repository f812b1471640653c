import Conformance
import Phone
import Providers
import Testing

/// The account workflow with the calls of the official clients (Firebase fact sheet, section 12).
@Suite("Account app")
struct AccountAppTests {
    /// The app before the fakes alone; what it tells its backend is kept.
    private struct AccountAppFixture {
        var services = Services(seed: 7, revenueCatKey: nil, oneSignalKey: nil)
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
        var (world, app) = (AccountAppFixture(), app())
        world.run(&app, act(.launch))
        let anonymous = app.revenueCatID
        #expect(anonymous.hasPrefix("$RCAnonymousID:") && app.uid == nil)
        world.run(&app, act(.purchase))
        world.run(&app, act(.signUp))
        #expect(app.failure == nil && app.uid != nil && app.revenueCatID == app.uid)
        #expect(
            world.calls == [
                "signUp", "/v1/receipts", "signUp", "lookup", "/v1/subscribers/identify",
            ]
        )
        #expect(world.told.map(\.id) == [anonymous, app.uid])
        let customer = world.services.revenueCat.customer(app.uid ?? "")
        #expect(customer?.ids.contains(anonymous) == true)
    }

    @Test func `the whole workflow ends where it should`() {
        var (world, app) = (AccountAppFixture(), app())
        for name in [AppAction.Name.launch, .signUp, .purchase, .logout] {
            world.run(&app, act(name))
            #expect(app.failure == nil, "\(name): \(app.failure ?? "")")
        }
        let after = app.revenueCatID
        #expect(after.hasPrefix("$RCAnonymousID:") && app.uid == nil)
        world.run(&app, act(.signIn))
        let uid = app.uid
        #expect(uid != nil && app.failure == nil)
        world.run(&app, act(.google))
        #expect(app.uid == uid, "the same verified address is the same person")
        world.run(&app, act(.refresh))
        world.run(&app, act(.forgotPassword))
        #expect(app.failure == nil && app.uid == uid)
        world.run(&app, act(.signIn))
        #expect(app.failure != nil, "the old password has stopped")
        #expect(app.revenueCatID == uid, "a sign-in that failed changes nobody")
        world.run(&app, act(.signIn, "ada@example.com", "new-secret-1"))
        #expect(app.failure == nil && app.uid == uid)
        world.run(&app, act(.restore))
        world.run(&app, act(.deleteAccount))
        #expect(app.failure == nil && app.uid == nil)
        #expect(world.told.contains { $0.route == "delete-account" && $0.id == uid })
        world.run(&app, act(.signIn, "ada@example.com", "new-secret-1"))
        #expect(app.failure != nil, "the account is gone")
    }

    @Test func `an account that the backend has deleted at Firebase is deleted`() {
        var (world, app) = (AccountAppFixture(), app())
        world.run(&app, act(.launch))
        world.run(&app, act(.signUp))
        world.deletesAtFirebase = true
        world.run(&app, act(.deleteAccount))
        #expect(app.failure == nil && app.uid == nil)
        #expect(world.calls.contains("delete"), "the app deletes it as well")
    }

    @Test func `a login that is current calls RevenueCat no more`() {
        var (world, app) = (AccountAppFixture(), app())
        world.run(&app, act(.launch))
        world.run(&app, act(.signUp))
        world.calls = []
        world.run(&app, act(.signIn))
        #expect(world.calls == ["signInWithPassword", "lookup"])
    }

    @Test func `a failed sign-in calls only Firebase`() {
        for (defects, isSafe) in [([], true), ([.failedSignInSwitches], false)]
            as [(Set<AccountApp.Defect>, Bool)]
        {
            var (world, app) = (AccountAppFixture(), app(defects))
            world.run(&app, act(.launch))
            world.run(&app, act(.signUp))
            let before = app.revenueCatID
            world.told = []
            world.run(&app, act(.signIn, "ada@example.com", "wrong"))
            #expect(world.told.isEmpty == isSafe)
            #expect((app.revenueCatID == before) == isSafe)
        }
    }
}
