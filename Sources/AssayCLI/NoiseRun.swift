internal import Conformance
internal import FakeServers
internal import Foundation
internal import Recording
internal import Replay
internal import Programs

/// Plays drafts on the backend that they were recorded from, until what differs by itself is masked.
///
/// A backend that Assay starts is played on three times a round: twice in a row, alone and then side
/// by side, so that counters move; and once more from a fresh start, so that what a start sets anew
/// shows. One that is running already is played on three times.
struct NoiseRun: Sendable {
    /// A draft once it was played.
    struct Outcome: Sendable {
        var contract: Contract
        var masks: [NoiseLesson.Mask] = []
        /// What the backend does otherwise than it was recorded; nothing when the golden is green.
        var contradictions: [String] = []
        /// Why it could not be played; nil when it was.
        var reason: String?

        fileprivate mutating func learn(_ mask: NoiseLesson.Mask) {
            var mask = mask
            if let index = masks.firstIndex(where: { $0.place == mask.place }) {
                mask.widen(masks.remove(at: index))
                masks.insert(mask, at: index)
            } else {
                masks.append(mask)
            }
        }

        /// What was masked, a line for each place, none wider than a terminal.
        var maskLines: [String] {
            masks.map { mask in
                let (was, seen) = (Self.short(mask.recorded), Self.short(mask.seen))
                let now = mask.matcher.map { Self.short($0, 40) } ?? "not looked for"
                return "  \(mask.place)\n    \(was), then \(seen): \(now)"
            }
        }

        private static func short(_ text: String, _ countMax: Int = 24) -> String {
            text.count <= countMax ? text : text.prefix(countMax - 1) + "…"
        }
    }

    /// Each can only unveil what an earlier difference hid.
    private static let roundMax = 6
    /// So often is a place looked at that differs from the recording and not from itself.
    private static let playMax = 6
    private static let jobs = 8

    let profile: Profile
    let addresses: [Exchange.Party: ReplaySession.Address]
    let interruption: Interruption

    /// Plays the drafts until each is green, or contradicted; `tell` says on the way what is done.
    ///
    /// - Throws: When the backend does not get ready, or somebody interrupts.
    func outcomes(
        of drafts: [Contract],
        tell: @escaping @Sendable (String) -> Void
    ) async throws -> [Outcome] {
        var outcomes = drafts.map { Outcome(contract: $0) }
        var open = Array(drafts.indices)
        var round = 0
        while !open.isEmpty {
            round += 1
            tell(
                "round \(round): \(open.count) \(open.count == 1 ? "golden" : "goldens") played on "
                    + "the backend that was recorded\n"
            )
            let lessons = try await lessons(of: open.map { outcomes[$0].contract })
            open = open.filter { index in
                guard let lesson = lessons[outcomes[index].contract.id] else { return false }
                if let reason = lesson.reason {
                    outcomes[index].reason = reason
                    return false
                }
                let (contract, masks) = lesson.noise.masked
                if !masks.isEmpty, round < Self.roundMax {
                    outcomes[index].contract = contract
                    for mask in masks { outcomes[index].learn(mask) }
                    return true
                }
                outcomes[index].contradictions =
                    masks.isEmpty
                    ? lesson.noise.contradictions
                    : masks.map {
                        "\($0.place): it still comes out otherwise after \(round) rounds"
                    }
                if outcomes[index].contradictions.isEmpty {
                    outcomes[index].contradictions = lesson.failures
                }
                return false
            }
        }
        return outcomes
    }

    // MARK: Plays

    private struct Lesson {
        var noise: NoiseLesson
        var failures: [String] = []
        var reason: String?
    }

    private func lessons(of drafts: [Contract]) async throws -> [String: Lesson] {
        var lessons = Dictionary(
            drafts.map { ($0.id, Lesson(noise: NoiseLesson($0))) },
            uniquingKeysWith: { first, _ in first }
        )
        func hear(_ results: [CaseResult]) {
            for result in results {
                if let evidence = result.evidence, result.verdict != .notRun {
                    lessons[result.contract.id]?.noise.hear(evidence)
                }
                switch result.verdict {
                case .passed: break
                case .notRun:
                    lessons[result.contract.id]?.reason = result.note ?? "it was not played"
                case .failed, .inconclusive, .knownFailure, .unexpectedPass:
                    let texts = result.findings.map {
                        "\($0.code.rawValue): \($0.expected) was recorded, \($0.actual) comes"
                    }
                    for text in texts
                    where lessons[result.contract.id]?.failures.contains(text) == false {
                        lessons[result.contract.id]?.failures.append(text)
                    }
                    if texts.isEmpty {
                        lessons[result.contract.id]?.failures.append(result.note ?? "it is no pass")
                    }
                }
            }
        }
        try await session { session in
            hear(try await play(drafts, on: session, jobs: 1))
            hear(try await play(drafts, on: session, jobs: Self.jobs))
        }
        try await session { session in
            hear(try await play(drafts, on: session, jobs: Self.jobs))
            for _ in 3..<Self.playMax {
                let open = drafts.filter { lessons[$0.id]?.noise.isOpen == true }
                guard !open.isEmpty else { break }
                hear(try await play(open, on: session, jobs: 1))
            }
        }
        return lessons
    }

    private func play(
        _ drafts: [Contract],
        on session: ReplaySession,
        jobs: Int
    ) async throws -> [CaseResult] {
        var options = SuiteRunner.Options(
            seed: UInt64.random(in: 0 ... .max),
            jobs: jobs,
            nonce: SuiteRun.nonce(),
            knownFailures: KnownFailures()
        )
        options.keepsEvidence = true
        let chosen = options
        let results = try await interruption.run {
            await SuiteRunner(executor: session.executor, options: chosen, report: { _ in })
                .run(drafts)
        }
        if interruption.isRaised { throw Failure(.interrupted, "interrupted") }
        return results
    }

    /// A backend with fresh state while the body runs, or the one that is running already.
    private func session(_ body: (ReplaySession) async throws -> Void) async throws {
        let work = try WorkFolder.made()
        defer { work.remove() }
        let folder = work.path
        let session = try await ReplaySession.opened(profile, addresses: addresses, folder: folder)
        interruption.onAbandon { session.abandon() }
        do {
            try await body(session)
        } catch {
            await session.close()
            throw error
        }
        await session.close()
    }
}

extension ReplaySession {
    /// The session in a folder that is made for it.
    ///
    /// - Throws: `Failure` when the backend does not get ready.
    static func opened(
        _ profile: Profile,
        addresses: [Exchange.Party: Address] = [:],
        folder: String
    ) async throws -> ReplaySession {
        try FileManager.default.createDirectory(
            atPath: folder + "/data",
            withIntermediateDirectories: true
        )
        let base = Instant(milliseconds: (SuiteRun.now().milliseconds / 1000 - 3600) * 1000)
        do throws(OpenError) {
            return try await ReplaySession(
                profile: profile,
                addresses: addresses,
                folder: folder,
                base: base,
                onRefusal: Terminal.tellRefusal,
                onWaiting: Terminal.tellWaiting
            )
        } catch {
            throw Failure(ExitStatus(error.kind), error.description)
        }
    }
}
