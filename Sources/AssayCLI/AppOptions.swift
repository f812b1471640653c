internal import ArgumentParser
internal import Browser
internal import Conformance
internal import Foundation
internal import Phone

/// Which app is judged, and who plays it.
struct AppOptions: ParsableArguments {
    @Option(name: .long, help: Setting.url.help)
    var url: String?

    @Flag(name: .long, help: "Judge the built-in app; needs no browser.")
    var scripted = false

    @Option(name: .long, help: "With --scripted: a defect of the built-in app; repeatable.")
    var defect: [String] = []

    @Option(name: .long, help: Setting.browser.help)
    var browser: String?

    /// Whether any of it is given on the command line.
    var isGiven: Bool { url != nil || scripted || !defect.isEmpty || browser != nil }

    /// - Parameters:
    ///   - profile: May name the app.
    ///   - hosts: Beside loopback, those that the page may be on or call.
    ///   - command: What a person has typed so far.
    ///   - environment: May name the app or the browser.
    /// - Returns: Who plays the app.
    /// - Throws: A failure of usage where no app is named, or no browser is there.
    func performer(
        _ profile: Profile,
        _ hosts: [String],
        _ command: String,
        _ environment: [String: String]
    ) throws -> DeviceRun.Performer {
        let url = Setting.url.text(url, environment) ?? profile.app.url
        guard scripted || url != nil else {
            throw Failure(
                .usage,
                "no app to judge: give --url URL, or 'app: {url: …}' in the profile; "
                    + "'assay \(command) --scripted' needs neither"
            )
        }
        guard defect.isEmpty || scripted else {
            throw Failure(.usage, "--defect belongs to the built-in app: add --scripted")
        }
        let defects = try defect.map { try ClientDefect.named($0) }
        guard let url, !scripted else { return .scripted(Set(defects)) }
        _ = try TargetURL(url, flag: "--url", allowed: hosts)
        do throws(Chromium.StartError) {
            let executable = try Chromium.find(
                Setting.browser.text(browser, environment),
                path: environment["PATH"] ?? ""
            )
            return .browser(url: url, executable: executable, allowedHosts: Set(hosts))
        } catch {
            throw Failure(.unreachable, error.description)
        }
    }

    /// What says the same again, whatever the environment says then.
    func replayWords(_ environment: [String: String]) -> [String] {
        var words = scripted ? ["--scripted"] : []
        for name in defect { words += ["--defect", name] }
        guard !scripted else { return words }
        if let url = Setting.url.text(url, environment) { words += ["--url", url] }
        if let name = Setting.browser.text(browser, environment) { words += ["--browser", name] }
        return words
    }
}

extension ClientDefect {
    /// - Throws: A failure of usage that names what comes closest.
    static func named(_ name: String) throws -> ClientDefect {
        guard let defect = ClientDefect(rawValue: name) else {
            let near = Suggestion.nearest(to: name, among: allCases.map(\.rawValue))
            throw Failure(
                .usage,
                "there is no defect '\(name)'" + (near.map { "; did you mean '\($0)'?" } ?? "")
            )
        }
        return defect
    }
}
