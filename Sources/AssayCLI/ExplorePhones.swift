internal import ArgumentParser
internal import Browser
internal import Conformance
internal import Exploration
internal import Foundation
internal import Replay
internal import Reports

extension ExploreCommand {
    /// Runs a campaign of generated histories against an app on a simulated phone.
    func explorePhones(_ given: Setup) async throws {
        guard only.isEmpty, target.target == nil, target.start == nil else {
            throw Failure(
                .usage,
                "--only, --target and --start apply only to a backend: remove them, or remove --app"
            )
        }
        let (profile, environment) = (given.profile, given.environment)
        let hosts = TargetOptions.hosts(target.allowHost, environment)
        let performer = try appOptions.performer(profile, hosts, "explore --app", environment)
        let stock = try stock(environment)
        let foundFolder = stock.foundFolder
        let setup = given.writing(to: foundFolder)
        let options = setup.options
        let lives = setup.share(of: stock.contents.phones)
        let teller = ExploreProgress(stock.corpus, known: stock.contents.coverage)
        if !setup.files.usesStandardOutput {
            Terminal.error(
                "assay \(assayVersion) · seed \(setup.seed) · \(setup.isOver)\n"
                    + "app      \(performer.target)\n\n"
            )
        }
        setup.beginSaving(performer.target)
        let device = DeviceRun(profile: profile, seed: setup.seed)
        let interruption = Interruption()
        let began = SuiteRun.now()
        let start = ContinuousClock().now
        let played = try await interruption.run {
            try await device.play(
                performer,
                began: began,
                opened: { chromium in interruption.onAbandon { chromium.end() } },
                { perform in
                    let clock = RealClock()
                    let player = PhoneCampaign.Player(
                        profile: profile,
                        cast: performer.cast(profile),
                        options: options,
                        clock: clock,
                        perform: perform
                    )
                    return await PhoneCampaign(
                        player: player,
                        corpus: lives,
                        options: options,
                        clock: clock,
                        report: { event in
                            setup.save(event)
                            teller.report(event)
                        }
                    ).run()
                }
            )
        }
        await setup.saved?.end()
        teller.clear()
        let result = ExploreRun.Result(
            outcome: played.value,
            target: performer.target,
            began: began,
            seconds: Double((ContinuousClock().now - start).milliseconds) / 1000,
            notes: played.notes
        )
        let words = replayWords(setup)
        let isKept = teller.keep(result.outcome)
        let outcome = try conclude(
            result,
            setup,
            foundFolder,
            playWords: ["app"] + words,
            again: ["explore", "--app"] + words,
            isInterrupted: interruption.isRaised
        )
        if !setup.files.usesStandardOutput {
            let text = PhoneCoverageText(result.outcome)
            Terminal.output(coverage ? text.whole : text.summary)
        }
        throw Self.exitCode(outcome, isKept: isKept)
    }

    private func replayWords(_ setup: Setup) -> [String] {
        var words: [String] = []
        if let path = Setting.profile.text(target.profile, setup.environment) {
            words += ["--profile", path]
        }
        words += appOptions.replayWords(setup.environment)
        for host in TargetOptions.hosts(target.allowHost, setup.environment) {
            words += ["--allow-host", host]
        }
        return words
    }
}
