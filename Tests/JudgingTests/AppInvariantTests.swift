import Contracts
import Judging
internal import Providers
import Testing

/// A change of a good story, and what one invariant says to it.
private struct TimelineChange: Sendable, CustomTestStringConvertible {
    let invariant: AppInvariant
    let what: String
    /// Nil: the invariant is still kept.
    let code: FindingCode?
    let timeline: @Sendable () -> PhoneTimeline

    var testDescription: String { "\(invariant.rawValue): \(what)" }

    static func breaks(
        _ invariant: AppInvariant,
        _ code: FindingCode,
        _ what: String,
        in base: PhoneTimeline = .day,
        _ change: @escaping @Sendable (inout PhoneTimeline) -> Void
    ) -> TimelineChange {
        TimelineChange(invariant: invariant, what: what, code: code) { changed(base, change) }
    }

    static func keeps(
        _ invariant: AppInvariant,
        _ what: String,
        in base: PhoneTimeline = .day,
        _ change: @escaping @Sendable (inout PhoneTimeline) -> Void = { _ in }
    ) -> TimelineChange {
        TimelineChange(invariant: invariant, what: what, code: nil) { changed(base, change) }
    }

    private static func changed(
        _ base: PhoneTimeline,
        _ change: (inout PhoneTimeline) -> Void
    ) -> PhoneTimeline {
        var timeline = base
        change(&timeline)
        return timeline
    }
}

private let first = PhoneTimeline.first
private let second = PhoneTimeline.second
private let third = PhoneTimeline.third

@Suite("App invariants")
struct AppInvariantTests {
    /// What a day with a change of users cannot keep.
    private static let invariantsNotInFullDay: Set<AppInvariant> = [
        .silent, .registersSameUserID, .unchanged,
    ]

    @Test("a correct app keeps each invariant during a full day", arguments: AppInvariant.allCases)
    func keeps(invariant: AppInvariant) {
        let timeline: PhoneTimeline =
            switch invariant {
            case .silent: .browser
            case .registersSameUserID, .unchanged: .morning
            default: .day
            }
        #expect(timeline.codes(invariant).isEmpty)
        #expect(Judge.judge(timeline.evidence([invariant])).verdict == .passed)
    }

    @Test func `a correct app keeps all invariants together`() {
        let requiredInvariants = AppInvariant.allCases.filter {
            !Self.invariantsNotInFullDay.contains($0)
        }
        #expect(Judge.judge(PhoneTimeline.day.evidence(requiredInvariants)).findings == [])
    }

    @Test("every invariant is broken by some timeline", arguments: AppInvariant.allCases)
    func isBroken(invariant: AppInvariant) {
        let timelineChanges = Self.timelineChanges.filter { $0.invariant == invariant }
        #expect(
            timelineChanges.contains { $0.code != nil },
            "no story breaks '\(invariant.rawValue)'"
        )
        #expect(
            timelineChanges.contains { $0.code == nil },
            "no near miss of '\(invariant.rawValue)'"
        )
    }

    @Test("a change breaks an invariant or does not", arguments: timelineChanges)
    private func turn(_ turn: TimelineChange) {
        let codes = turn.timeline().codes(turn.invariant)
        #expect(codes == (turn.code.map { [$0] } ?? []))
    }

    @Test("an invariant ignores records of other phones", arguments: AppInvariant.allCases)
    func ownLines(invariant: AppInvariant) {
        guard !Self.invariantsNotInFullDay.contains(invariant) else { return }
        // What happens on another phone, later, is another story.
        var timeline = PhoneTimeline.day
        let other = "another-user-0009"
        timeline.look(vault: [:], alias: nil, on: "second", at: 5000)
        timeline.userAction("launch", at: 6000, on: "second")
        timeline.command(Bridge.write(other), at: 6010, on: "second")
        timeline.command(
            Bridge.write("true", key: "identity_locked"),
            at: 6015,
            on: "second"
        )
        timeline.command(Bridge.alias(other), at: 6020, on: "second")
        timeline.register(other, at: 6100, until: 6150, on: "second")
        timeline.look(vault: ["app_user_id": other], alias: other, on: "second")
        #expect(timeline.codes(invariant).isEmpty)
    }

    // MARK: The table

    private static let timelineChanges: [TimelineChange] =
        silence + ids + orders + aliases + identities + registrations + paywalls + commands
        + later

    private static let silence: [TimelineChange] = [
        .breaks(.silent, .unexpectedCommand, "even a harmless command is one", in: .browser) {
            $0.command("lighthaptic://", at: 10)
        },
        .keeps(.silent, "taps and calls are no commands", in: .browser) {
            $0.userAction("upgrade", at: 100)
            $0.register(first, at: 120)
        },
        .breaks(.sendsOneCommandPerTask, .commandSwallowed, "two commands in one task") {
            $0.command("lighthaptic://", at: 2600, isInTaskOfOther: true)
        },
        .keeps(.sendsOneCommandPerTask, "two commands at one time of two tasks") {
            $0.command("lighthaptic://", at: 2600)
            $0.command("lighthaptic://", at: 2600)
        },
        .breaks(.unbroken, .pageBroken, "an error of the page") {
            $0.pageError("x is not a function", at: 2600)
        },
        .breaks(.definesNativeCallbacks, .pageBroken, "there is no function to call") {
            $0.drop(2520)
            $0.called("onRevenueCatPurchase", exists: false, at: 2520)
        },
        .breaks(.definesNativeCallbacks, .faultNotApplied, "nobody called") { $0.drop(2520) },
        .keeps(.definesNativeCallbacks, "one of two functions is enough") {
            $0.called("iapSuccess", exists: false, at: 2521)
        },
        .keeps(.unbroken, "a tap that found nothing is no error of the page") {
            $0.userAction("upgrade", at: 2600, missing: "#buy")
        },
    ]

    private static let ids: [TimelineChange] = [
        .breaks(.usableIDs, .unusableID, "undefined is written") {
            $0.command(Bridge.write("undefined"), at: 61)
        },
        .breaks(.usableIDs, .unusableID, "an alias without an id") {
            $0.command("setonesignalplayerid://", at: 71)
        },
        .breaks(.usableIDs, .unusableID, "a paywall without a buyer") {
            $0.command("revenuecat://launchPaywall?offering=default", at: 2020)
        },
        .breaks(.usableIDs, .unusableID, "a purchase for nobody") {
            $0.command("revenuecat://purchase?external_id=null&product=x", at: 2020)
        },
        .breaks(.usableIDs, .unusableID, "a registration without an id") {
            $0.register(nil, at: 4200)
        },
        .breaks(.usableIDs, .unusableID, "a registration that failed counts too") {
            $0.register("[object Object]", at: 4200, status: 500)
        },
        .breaks(.usableIDs, .unusableID, "101 letters") {
            $0.command(Bridge.alias(String(repeating: "a", count: 101)), at: 71)
        },
        .keeps(.usableIDs, "100 letters") {
            $0.command(Bridge.alias(String(repeating: "a", count: 100)), at: 71)
        },
        .keeps(.usableIDs, "what lies under another key is no id") {
            $0.command(Bridge.write("undefined", key: "other"), at: 61)
        },
        .keeps(.usableIDs, "an id may contain a word that is none") {
            $0.command(Bridge.alias("nullable-user"), at: 71)
        },
        .breaks(.unguessable, .guessableID, "the first user comes back") {
            $0.drop(4010)
            $0.command(Bridge.write(first), at: 4010)
        },
        .breaks(.unguessable, .guessableID, "the id of the login comes back") {
            $0.drop(4010)
            $0.command(Bridge.write(second), at: 4010)
        },
        .breaks(.unguessable, .guessableID, "what the vault held at first comes back") {
            $0.drop(-1, 4010)
            $0.look(vault: ["app_user_id": "before-the-first-one"], alias: nil, at: -1)
            $0.command(Bridge.write("before-the-first-one"), at: 4010)
        },
        .breaks(.unguessable, .guessableID, "the install id in the other case") {
            $0.drop(4010)
            $0.command(Bridge.write("user-" + PhoneTimeline.install.lowercased()), at: 4010)
        },
        .breaks(.unguessable, .guessableID, "fifteen letters") {
            $0.drop(4010)
            $0.command(Bridge.write("abcdefghijklmno"), at: 4010)
        },
        .keeps(.unguessable, "sixteen letters") {
            $0.drop(4010)
            $0.command(Bridge.write("abcdefghijklmnop"), at: 4010)
        },
        .breaks(.unguessable, .guessableID, "digits alone are a clock") {
            $0.drop(4010)
            $0.command(Bridge.write("1790000000000000000"), at: 4010)
        },
        .breaks(.unguessable, .commandMissing, "a logout that writes nothing") { $0.drop(4010) },
        .keeps(.unguessable, "what a login writes was chosen by the backend") {
            $0.drop(3110)
            $0.command(Bridge.write("7"), at: 3110)
        },
    ]

    private static let orders: [TimelineChange] = [
        .breaks(.writesLockBeforeRegistering, .commandMissing, "the lock is never written") {
            $0.drop(65)
        },
        .breaks(.writesLockBeforeRegistering, .commandMissing, "the lock is written as false") {
            $0.drop(65)
            $0.command(Bridge.write("false", key: "identity_locked"), at: 65)
        },
        .breaks(.writesLockBeforeRegistering, .wrongOrder, "the lock comes 51 ms after") {
            $0.drop(65)
            $0.command(Bridge.write("true", key: "identity_locked"), at: 1201)
        },
        .keeps(.writesLockBeforeRegistering, "the lock comes 50 ms after, which nobody can tell") {
            $0.drop(65)
            $0.command(Bridge.write("true", key: "identity_locked"), at: 1200)
        },
        .breaks(.writesLockBeforeRegistering, .registrationLost, "nobody was registered") {
            $0.drop(1150, 3150, 4050)
        },
        .breaks(.writesLockBeforeRegistering, .commandMissing, "only the second phone wrote a lock")
        {
            $0.drop(65)
            $0.command(Bridge.write("true", key: "identity_locked"), at: 65, on: "second")
        },
        .breaks(.writesLockBeforeRegistering, .commandMissing, "the second phone wrote none") {
            $0.userAction("launch", at: 5000, on: "second")
            $0.register(third, at: 5100, until: 5150, on: "second")
        },
        .breaks(
            .writesLockBeforeRegistering,
            .wrongOrder,
            "the second phone locks after it registered"
        ) {
            $0.userAction("launch", at: 5000, on: "second")
            $0.register(third, at: 5100, until: 5150, on: "second")
            $0.command(Bridge.write("true", key: "identity_locked"), at: 5200, on: "second")
        },
        .keeps(.writesLockBeforeRegistering, "each of two phones locks before it registers") {
            $0.userAction("launch", at: 5000, on: "second")
            $0.command(Bridge.write("true", key: "identity_locked"), at: 5050, on: "second")
            $0.register(third, at: 5100, until: 5150, on: "second")
        },
        .keeps(
            .writesLockBeforeRegistering,
            "a second phone that was never registered has nothing to lock"
        ) {
            $0.userAction("launch", at: 5000, on: "second")
            $0.register(third, at: 5100, until: 5150, status: 500, on: "second")
        },
        .keeps(.writesLockBeforeRegistering, "an app without a lock has none to write") {
            $0.drop(65)
            $0.profile.app.vaultKeys[.lock] = nil
        },
        .breaks(.writesIDBeforeRegistering, .commandMissing, "the id is never written") {
            $0.drop(60)
        },
        .breaks(.writesIDBeforeRegistering, .commandMissing, "the id of a logout is never written")
        {
            $0.drop(4010)
        },
        .breaks(.writesIDBeforeRegistering, .commandMissing, "it is written on another phone") {
            $0.drop(60)
            $0.command(Bridge.write(first), at: 60, on: "second")
        },
        .breaks(.writesIDBeforeRegistering, .wrongOrder, "the id is written 51 ms after") {
            $0.drop(60)
            $0.command(Bridge.write(first), at: 1201)
        },
        .keeps(.writesIDBeforeRegistering, "the id is written 50 ms after") {
            $0.drop(60)
            $0.command(Bridge.write(first), at: 1200)
        },
        .keeps(.writesIDBeforeRegistering, "the vault had it before") {
            $0.drop(-1, 60)
            $0.look(vault: ["app_user_id": first], alias: nil, at: -1)
        },
        .keeps(.writesIDBeforeRegistering, "a registration that failed binds nobody") {
            $0.register("never-written-user", at: 4200, status: 500)
        },
        .breaks(.writesIDBeforeRegistering, .registrationLost, "nobody was registered") {
            $0.drop(1150, 3150, 4050)
        },
    ]

    private static let aliases: [TimelineChange] = [
        .breaks(.aliased, .commandMissing, "a launch tells OneSignal nothing") { $0.drop(70) },
        .breaks(.aliased, .commandMissing, "a login tells OneSignal nothing") { $0.drop(3120) },
        .breaks(.aliased, .commandMissing, "a logout tells OneSignal nothing") { $0.drop(4020) },
        .breaks(.aliased, .identitySplit, "somebody else is told") {
            $0.drop(3120)
            $0.command(Bridge.alias(first), at: 3120)
        },
        .breaks(.aliased, .identitySplit, "the last alias counts") {
            $0.command(Bridge.alias(first), at: 3130)
        },
        .keeps(.aliased, "the first alias of a flow does not count") {
            $0.command(Bridge.alias(first), at: 3115)
        },
        .breaks(.aliased, .commandMissing, "an alias of the flow before is too old") {
            $0.drop(3120)
            $0.command(Bridge.alias(second), at: 2980)
            $0.command(Bridge.alias(first), at: 2990)
        },
        .keeps(.aliased, "a flow that told the backend nothing is another invariant's") {
            $0.drop(4020, 4050)
        },
        .breaks(.aliased, .commandMissing, "a reload is a flow") {
            $0.userAction("reload", at: 5000)
            $0.register(third, at: 5100)
        },
        .keeps(.aliased, "a tap on upgrade is none") {
            $0.userAction("upgrade", at: 5000)
            $0.command(Bridge.paywall(third), at: 5010)
        },
    ]

    private static let identities: [TimelineChange] = [
        .breaks(.endsWithOneUserID, .identitySplit, "the vault holds somebody else") {
            $0.look(vault: ["app_user_id": first], alias: third)
        },
        .breaks(.endsWithOneUserID, .identitySplit, "OneSignal knows somebody else") {
            $0.look(vault: ["app_user_id": third], alias: second)
        },
        .breaks(.endsWithOneUserID, .identitySplit, "OneSignal knows nobody") {
            $0.look(vault: ["app_user_id": third], alias: nil)
        },
        .breaks(.endsWithOneUserID, .identitySplit, "the backend knows the one before") {
            $0.drop(4050)
        },
        .breaks(.endsWithOneUserID, .identitySplit, "the last registration was not acknowledged") {
            $0.drop(4050)
            $0.register(third, at: 4050, responses: second)
        },
        .keeps(.endsWithOneUserID, "a registration that failed counts for nothing") {
            $0.register(second, at: 4200, status: 500)
        },
        .breaks(.endsWithOneUserID, .unobservable, "nobody looked at the phone") { $0.dropLooks() },
        .breaks(
            .registersSameUserID,
            .wrongUser,
            "the second launch registers another",
            in: .morning
        ) {
            $0.drop(1050)
            $0.register(second, at: 1050)
        },
        .keeps(.registersSameUserID, "an attempt for another that failed", in: .morning) {
            $0.register(second, at: 1080, status: 500)
        },
        .breaks(.registersSameUserID, .registrationLost, "nobody was registered", in: .morning) {
            $0.drop(50, 1050)
        },
        .breaks(.loginSendsCurrentID, .wrongUser, "the login tells the install id") {
            $0.drop(3010)
            $0.login(current: PhoneTimeline.install, at: 3010, until: 3100)
        },
        .breaks(.loginSendsCurrentID, .wrongUser, "the login tells an id of before") {
            $0.command(Bridge.write(third), at: 2900)
        },
        .keeps(.loginSendsCurrentID, "the vault held it and nothing was written") {
            $0.drop(-1, 60)
            $0.look(vault: ["app_user_id": first], alias: nil, at: -1)
        },
        .breaks(.loginSendsCurrentID, .faultNotApplied, "no login took place") { $0.drop(3010) },
    ]

    private static let later: [TimelineChange] = [
        .breaks(.delayedRepliesKeepUserID, .wrongUser, "a late reply brings the id of before") {
            $0.command(Bridge.write(second), at: 34_000)
        },
        .breaks(.delayedRepliesKeepUserID, .wrongUser, "a late alias") {
            $0.command(Bridge.alias(first), at: 34_000)
        },
        .breaks(.delayedRepliesKeepUserID, .wrongUser, "a late registration of somebody else") {
            $0.register(first, at: 34_000)
        },
        .keeps(.delayedRepliesKeepUserID, "the same again") {
            $0.command(Bridge.write(third), at: 34_000)
            $0.register(third, at: 34_010)
        },
        .keeps(
            .delayedRepliesKeepUserID,
            "waiting is no gesture that allows a change, nor one that forbids"
        ) {
            $0.userAction("wait", at: 30_000)
        },
        .breaks(.delayedRepliesKeepUserID, .wrongUser, "waiting allows no change") {
            $0.userAction("wait", at: 30_000)
            $0.command(Bridge.write(first), at: 30_010)
        },
        .breaks(
            .delayedRepliesKeepUserID,
            .registrationLost,
            "nothing was settled after the last gesture"
        ) {
            $0.drop(4050)
        },
        .breaks(.unchanged, .unexpectedCommand, "a restore that writes", in: .morning) {
            $0.command(Bridge.write(first), at: 2020)
        },
        .breaks(.unchanged, .unexpectedCommand, "a restore that writes any key", in: .morning) {
            $0.command(Bridge.write("x", key: "note"), at: 2020)
        },
        .breaks(.unchanged, .unexpectedCommand, "a restore that aliases", in: .morning) {
            $0.command(Bridge.alias(first), at: 2020)
        },
        .breaks(.unchanged, .unexpectedCommand, "a restore that registers", in: .morning) {
            $0.register(first, at: 2020)
        },
        .keeps(.unchanged, "reading changes nothing", in: .morning) {
            $0.command("readvault://?key=app_user_id", at: 2020, reply: 20)
        },
        .keeps(.unchanged, "another phone's changes", in: .morning) {
            $0.command(Bridge.alias(first), at: 2020, on: "second")
        },
    ]
}

// MARK: - What is told and sold

extension AppInvariantTests {
    private static let registrations: [TimelineChange] = [
        .breaks(.retriesFailedRegistrations, .registrationLost, "it is never tried again") {
            $0.drop(after: 150)
        },
        .breaks(
            .retriesFailedRegistrations,
            .registrationLost,
            "the second failure is the last word"
        ) {
            $0.drop(after: 150)
            $0.register(first, at: 1150, until: 1200, status: 503)
        },
        .breaks(
            .retriesFailedRegistrations,
            .registrationLost,
            "a later failure is never tried again"
        ) {
            $0.register(third, at: 5000, until: 5050, status: 500)
        },
        .breaks(.retriesFailedRegistrations, .registrationLost, "the second phone gave up") {
            $0.userAction("launch", at: 5000, on: "second")
            $0.register(third, at: 5100, until: 5150, status: 500, on: "second")
        },
        .breaks(.retriesFailedRegistrations, .registrationLost, "only another phone tried again") {
            $0.drop(after: 150)
            $0.userAction("launch", at: 900, on: "second")
            $0.register(first, at: 1150, until: 1200, on: "second")
        },
        .keeps(.retriesFailedRegistrations, "two failures, and each was tried again") {
            $0.register(first, at: 700, until: 750, status: 500)
            $0.register(third, at: 4200, until: 4250, status: nil)
            $0.register(third, at: 4300, until: 4350)
        },
        .keeps(
            .retriesFailedRegistrations,
            "one that was under way is acknowledged after the failure"
        ) {
            $0.drop(4050)
            $0.register(third, at: 4050, until: 4500)
            $0.register(third, at: 4200, until: 4250, status: 503)
        },
        .breaks(
            .retriesFailedRegistrations,
            .registrationLost,
            "what is under way was for another id"
        ) {
            $0.drop(4050)
            $0.register(first, at: 4050, until: 4500)
            $0.register(third, at: 4200, until: 4250, status: 503)
        },
        .breaks(.retriesFailedRegistrations, .registrationLost, "what is under way fails as well") {
            $0.drop(4050)
            $0.register(third, at: 4050, until: 4500, status: 503)
            $0.register(third, at: 4200, until: 4250, status: 503)
        },
        .breaks(
            .retriesFailedRegistrations,
            .registrationLost,
            "it was acknowledged before the failure"
        ) {
            $0.drop(4050)
            $0.register(third, at: 4050, until: 4100)
            $0.register(third, at: 4200, until: 4250, status: 503)
        },
        .keeps(.retriesFailedRegistrations, "two phones, and each tried again") {
            $0.userAction("launch", at: 5000, on: "second")
            $0.register(third, at: 5100, until: 5150, status: 500, on: "second")
            $0.register(third, at: 5300, until: 5350, on: "second")
        },
        .breaks(.retriesFailedRegistrations, .faultNotApplied, "nothing failed") { $0.drop(100) },
        .breaks(.retriesFailedRegistrations, .faultNotApplied, "nothing was sent") {
            $0.drop(100, 1150, 3150, 4050)
        },
        .breaks(
            .retriesFailedRegistrations,
            .registrationLost,
            "a 200 that names another is a failure"
        ) {
            $0.drop(100)
            $0.drop(after: 1100)
            $0.register(first, at: 1150, responses: second)
        },
        .breaks(.retriesFailedRegistrations, .registrationLost, "no answer at all is a failure") {
            $0.drop(100)
            $0.drop(after: 1100)
            $0.register(first, at: 1150, status: nil)
        },
        .breaks(
            .retriesFailedRegistrations,
            .registrationLost,
            "another phone's attempt is no retry"
        ) {
            $0.drop(after: 150)
            $0.register(first, at: 1150, on: "second")
        },
        .keeps(.retriesFailedRegistrations, "the second attempt may fail too") {
            $0.drop(1150)
            $0.register(first, at: 1150, status: 500)
            $0.register(first, at: 1900)
        },
        .breaks(.repeatsNoRegistration, .registrationRepeated, "again, for no reason") {
            $0.register(third, at: 4200)
        },
        .keeps(.repeatsNoRegistration, "again, after a tap") {
            $0.userAction("status", at: 4150)
            $0.register(third, at: 4200)
        },
        .keeps(.repeatsNoRegistration, "the same id from another phone") {
            $0.register(third, at: 4200, on: "second")
        },
        .keeps(.repeatsNoRegistration, "an attempt that failed is none") {
            $0.register(third, at: 4200, status: 502)
        },
        .keeps(.repeatsNoRegistration, "another id") { $0.register(first, at: 4200) },
        .breaks(.completeRegistrations, .registrationLost, "no registration at all") {
            $0.drop(100, 1150, 3150, 4050)
        },
        .breaks(.completeRegistrations, .registrationIncomplete, "no platform") {
            $0.register(third, at: 4200, ["platform": nil])
        },
        .breaks(.completeRegistrations, .registrationIncomplete, "no device") {
            $0.register(third, at: 4200, ["deviceId": nil])
        },
        .breaks(.completeRegistrations, .registrationIncomplete, "an empty source") {
            $0.register(third, at: 4200, ["source": ""])
        },
        .breaks(.completeRegistrations, .registrationIncomplete, "no id") {
            $0.register(nil, at: 4200)
        },
        .breaks(.completeRegistrations, .registrationIncomplete, "a text that was made of nothing")
        {
            $0.register(third, at: 4200, ["source": "vault-undefined"])
        },
        .keeps(.completeRegistrations, "a word that contains one is another word") {
            $0.register(third, at: 4200, ["source": "nullable-NaNcy"])
        },
        .breaks(.completeRegistrations, .registrationIncomplete, "an iPhone that says android") {
            $0.register(third, at: 4200, ["platform": "Android"])
        },
        .keeps(.completeRegistrations, "the case of the platform does not matter") {
            $0.register(third, at: 4200, ["platform": "iOS"])
        },
        .breaks(.completeRegistrations, .registrationIncomplete, "an Android that says ios") {
            $0.look(vault: [:], alias: nil, kind: "android")
        },
        .breaks(.completeRegistrations, .registrationIncomplete, "a platform nobody knows is named")
        {
            $0.look(vault: [:], alias: nil, kind: "unknown")
        },
        .breaks(
            .usesInstallIDAsDeviceID,
            .registrationIncomplete,
            "the device is not the install id"
        ) {
            $0.register(third, at: 4200, ["deviceId": "A-DEVICE-OF-ITS-OWN"])
        },
        .breaks(.usesInstallIDAsDeviceID, .registrationIncomplete, "the device is missing") {
            $0.register(third, at: 4200, ["deviceId": nil])
        },
        .breaks(.usesInstallIDAsDeviceID, .unusableID, "a command carries something unset") {
            $0.command("revenuecat://launchPaywall?external_id=x&offering=undefined", at: 2020)
        },
        .keeps(.usesInstallIDAsDeviceID, "an empty value gives a key of the vault up") {
            $0.command(Bridge.write(""), at: 4005)
        },
        .keeps(.usesInstallIDAsDeviceID, "nobody knows the install id") {
            $0.dropLooks()
            $0.register(third, at: 4200, ["deviceId": "ANY"])
        },
    ]

    private static let paywalls: [TimelineChange] = [
        .breaks(.registeredBeforePaywall, .paywallTooEarly, "one millisecond before the answer") {
            $0.command(Bridge.paywall(first), at: 1199)
        },
        .keeps(.registeredBeforePaywall, "with the answer") {
            $0.command(Bridge.paywall(first), at: 1200)
        },
        .breaks(.registeredBeforePaywall, .paywallTooEarly, "for somebody who is registered later")
        { $0.command(Bridge.paywall(second), at: 2020) },
        .breaks(.registeredBeforePaywall, .paywallTooEarly, "a purchase without a sheet") {
            $0.command("revenuecat://purchase?external_id=nobody&product=x", at: 2020)
        },
        .breaks(.registeredBeforePaywall, .paywallTooEarly, "after a failure that counted") {
            $0.drop(1150)
        },
        .breaks(.registeredBeforePaywall, .paywallTooEarly, "registered from another phone only") {
            $0.command(Bridge.paywall(first), at: 5000, on: "second")
        },
        .keeps(.registeredBeforePaywall, "the customer center sells nothing") {
            $0.command("revenuecat://center?external_id=nobody", at: 10)
        },
        .breaks(.paywallUsesCurrentID, .identitySplit, "the buyer is not the one in the vault") {
            $0.command(Bridge.write(second), at: 1900)
        },
        .breaks(.paywallUsesCurrentID, .identitySplit, "the buyer is not the one at OneSignal") {
            $0.command(Bridge.alias(second), at: 1900)
        },
        .breaks(.paywallUsesCurrentID, .identitySplit, "OneSignal knows nobody") { $0.drop(70) },
        .breaks(.paywallUsesCurrentID, .identitySplit, "the buyer is not the one at the backend") {
            $0.register(second, at: 1900)
        },
        .keeps(.paywallUsesCurrentID, "a registration that is under way has not happened") {
            $0.register(second, at: 1900, until: 2500)
        },
        .keeps(.paywallUsesCurrentID, "the vault held it before") {
            $0.drop(-1, 60)
            $0.look(vault: ["app_user_id": first], alias: nil, at: -1)
        },
        .breaks(.gated, .paywallTooEarly, "while the login is under way") {
            $0.command(Bridge.paywall(first), at: 3050)
        },
        .breaks(.gated, .paywallTooEarly, "before the login's registration is answered") {
            $0.command(Bridge.paywall(second), at: 3199)
        },
        .keeps(.gated, "when the login's registration is answered") {
            $0.command(Bridge.paywall(second), at: 3200)
        },
        .breaks(.gated, .paywallTooEarly, "a login that is never answered is never over") {
            $0.drop(3010)
            $0.login(current: first, at: 3010, until: nil)
            $0.command(Bridge.paywall(second), at: 3900)
        },
        .keeps(.gated, "a logout ends the login before it") {
            $0.drop(3010)
            $0.login(current: first, at: 3010, until: nil)
            $0.command(Bridge.paywall(third), at: 4100)
        },
        .keeps(.gated, "a tap while the login goes on") {
            $0.userAction("upgrade", at: 3050)
            $0.command(Bridge.paywall(second), at: 3200)
        },
        .breaks(.gated, .faultNotApplied, "a tap when all is over proves nothing") {
            $0.userAction("upgrade", at: 3300)
        },
        .breaks(.gated, .faultNotApplied, "a login that calls nobody is no login") {
            $0.drop(3010, 3150)
            $0.userAction("upgrade", at: 3050)
        },
        .keeps(.gated, "what a page registers when it has loaded itself anew is its start") {
            $0.pageStarted(at: 4110)
            $0.userAction("upgrade", at: 4020)
            $0.register(third, at: 4200, until: 4400)
            $0.command(Bridge.paywall(third), at: 4300)
        },
        .keeps(.gated, "another phone's paywall") {
            $0.command(Bridge.paywall(first), at: 3050, on: "second")
        },
        .breaks(
            .determinesUserIDOncePerPage,
            .unexpectedCommand,
            "a page asks twice who its user is"
        ) {
            $0.command("readvault://?key=app_user_id", at: 40, reply: 20)
        },
        .keeps(.determinesUserIDOncePerPage, "what was written is read back") {
            $0.command("readvault://?key=app_user_id", at: 68, reply: 20)
        },
        .keeps(.determinesUserIDOncePerPage, "a read that got no answer is tried again") {
            $0.command("readvault://?key=app_user_id", at: 2)
        },
        .breaks(.determinesUserIDOncePerPage, .registrationRepeated, "a page registers twice") {
            $0.register(first, at: 1300, until: 1350)
        },
        .keeps(.determinesUserIDOncePerPage, "a login finds out anew") {
            $0.command("readvault://?key=app_user_id", at: 3005, reply: 20)
        },
        .breaks(.logoutClearsLockFirst, .wrongOrder, "the id before the lock") {
            $0.drop(4005)
            $0.command(Bridge.write("false", key: "identity_locked"), at: 4030)
        },
        .breaks(.logoutClearsLockFirst, .commandMissing, "the lock stays") { $0.drop(4005) },
        .breaks(.logoutClearsLockFirst, .commandMissing, "no logout writes anything") {
            $0.drop(4005, 4010)
        },
        .keeps(.logoutClearsLockFirst, "before the logout nobody asks") {
            $0.command(Bridge.write("true", key: "identity_locked"), at: 3900)
        },
        .breaks(.registrationPausesGrow, .registrationRepeated, "pauses of one length") {
            for number in 1...3 as ClosedRange<Int64> {
                $0.register(first, at: 100 + number * 250, until: 110 + number * 250, status: 500)
            }
        },
        .keeps(.registrationPausesGrow, "pauses that double") {
            for pause in [250, 500] as [Int64] {
                $0.register(first, at: 100 + pause, until: 110 + pause, status: 500)
            }
            $0.register(first, at: 1140, until: 1145, status: 500)
        },
        .keeps(.registrationPausesGrow, "two attempts are too few to tell") {
            $0.register(first, at: 350, until: 360, status: 500)
        },
        .breaks(.registrationPausesGrow, .registrationLost, "one attempt, and no other") {
            $0.drop(after: 150)
        },
        .breaks(.singlePaywall, .paywallRepeated, "a second one while the first is open") {
            $0.command(Bridge.paywall(first), at: 2020)
        },
        .breaks(.singlePaywall, .faultNotApplied, "a second tap that came late is another wish") {
            $0.drop(2500, 2520)
            $0.userAction("upgrade", at: 3002)
            $0.command(Bridge.paywall(first), at: 3005)
            $0.drop(3010, 3110, 3120, 3150)
        },
        .breaks(.singlePaywall, .paywallRepeated, "a second tap closes nothing") {
            $0.userAction("upgrade", at: 2020)
            $0.command(Bridge.paywall(first), at: 2030)
        },
        .keeps(.singlePaywall, "a second one after the first was completed") {
            $0.command(Bridge.paywall(first), at: 2600)
        },
        .keeps(.singlePaywall, "a second one after a cancel") {
            $0.userAction("cancel", at: 2015)
            $0.command(Bridge.paywall(first), at: 2020)
        },
        .keeps(.singlePaywall, "a second one after a failure") {
            $0.userAction("fail", at: 2015)
            $0.command(Bridge.paywall(first), at: 2020)
        },
        .keeps(.singlePaywall, "a second one after a new launch") {
            $0.userAction("launch", at: 2015)
            $0.command(Bridge.paywall(first), at: 2020)
        },
        .breaks(.singlePaywall, .paywallRepeated, "a launch of another phone closes nothing") {
            $0.userAction("launch", at: 2015, on: "second")
            $0.command(Bridge.paywall(first), at: 2020)
        },
        .keeps(.singlePaywall, "one on each phone") {
            $0.command(Bridge.paywall(first), at: 2020, on: "second")
        },
    ]

    private static let commands: [TimelineChange] = [
        .breaks(.encoded, .malformedCommand, "a raw & adds a part") {
            $0.command(Bridge.write("a&b"), at: 4200)
        },
        .breaks(.encoded, .malformedCommand, "a raw & overrides a parameter") {
            $0.command("setvault://?key=k&value=a&locked=true&locked=false", at: 4200)
        },
        .breaks(.encoded, .malformedCommand, "a raw & adds a parameter that nobody meant") {
            $0.command(Bridge.paywall("a&price=0"), at: 4200)
        },
        .breaks(.encoded, .malformedCommand, "a raw #") {
            $0.command(Bridge.alias("a#b"), at: 4200)
        },
        .breaks(.encoded, .malformedCommand, "a raw blank") {
            $0.command(Bridge.alias("a b"), at: 4200)
        },
        .breaks(.encoded, .malformedCommand, "a letter beyond ASCII") {
            $0.command(Bridge.alias("zoë"), at: 4200)
        },
        .breaks(.encoded, .malformedCommand, "no scheme") { $0.command("launchPaywall", at: 4200) },
        .keeps(.encoded, "every one of them encoded") {
            $0.command(Bridge.write("a%26b%23c%20d%C3%AB%3D"), at: 4200)
        },
        .keeps(.encoded, "a scheme that nobody knows yet") {
            $0.command("future://go?a=1&b=2", at: 4200)
        },
        .breaks(.encoded, .malformedCommand, "an id that was encoded before", in: .hostile) {
            $0.command(Bridge.paywall("a%2526b"), at: 4200)
        },
        .keeps(.encoded, "an id that looks encoded", in: .hostile) {
            $0.command(Bridge.paywall("p%2526q"), at: 4200)
        },
        .keeps(.vaultReadsNeverOverlap, "the same question of the next document") {
            $0.pageStarted(at: 10)
            $0.command("readvault://?key=app_user_id", at: 15, reply: 20)
        },
        .breaks(.vaultReadsNeverOverlap, .malformedCommand, "two reads of one key") {
            $0.command("readvault://?key=app_user_id", at: 24, reply: 20)
        },
        .keeps(.vaultReadsNeverOverlap, "the second read after the first reply") {
            $0.command("readvault://?key=app_user_id", at: 25, reply: 20)
        },
        .keeps(.vaultReadsNeverOverlap, "two keys at a time") {
            $0.command("readvault://?key=another", at: 10, reply: 20)
        },
        .keeps(.vaultReadsNeverOverlap, "two pages at a time") {
            $0.command("readvault://?key=app_user_id", at: 10, load: "2", reply: 20)
        },
        .keeps(.vaultReadsNeverOverlap, "a read that is never answered is waited for by nobody") {
            $0.command("readvault://?key=lost", at: 4200)
            $0.command("readvault://?key=lost", at: 4210)
        },
        .breaks(.vaultHoldsNoPrivateValues, .unprotectedSecret, "an address lies open") {
            $0.command(Bridge.write("ada%40example.com"), at: 4200)
        },
        .breaks(.vaultHoldsNoPrivateValues, .unprotectedSecret, "a token lies open") {
            $0.command(Bridge.write("eyJ" + String(repeating: "a", count: 40)), at: 4200)
        },
        .breaks(.vaultHoldsNoPrivateValues, .unprotectedSecret, "a password lies open") {
            $0.command(Bridge.write("Password1"), at: 4200)
        },
        .breaks(
            .vaultHoldsNoPrivateValues,
            .unprotectedSecret,
            "a key that the profile does not know"
        ) {
            $0.command(Bridge.write("x", key: "session"), at: 4200)
        },
        .keeps(.vaultHoldsNoPrivateValues, "a key that the profile knows") {
            $0.profile.app.otherVaultKeys = ["session"]
            $0.command(Bridge.write("x", key: "session"), at: 4200)
        },
        .breaks(
            .vaultHoldsNoPrivateValues,
            .unprotectedSecret,
            "no word on the lock is an open one"
        ) {
            $0.command("setvault://?key=session&value=x", at: 4200)
        },
        .keeps(.vaultHoldsNoPrivateValues, "anything may lie in the locked vault") {
            $0.command(Bridge.write("ada%40example.com", key: "mail", locked: "true"), at: 4200)
        },
        .breaks(
            .vaultHoldsNoPrivateValues,
            .unprotectedSecret,
            "a key that is a name of the window, even locked"
        ) {
            $0.command(Bridge.write("x", key: "location", locked: "true"), at: 4200)
        },
    ]
}
