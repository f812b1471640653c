internal import Conformance

/// Collects exchanges while a file is read.
struct ImportReader {
    let context: Importer.Context
    var exchanges: [Exchange] = []
    var notes: [String] = []

    func fail(_ line: Int, _ problem: String, _ remedy: String) -> RecordingError {
        RecordingError(line: line, problem: problem, remedy: remedy)
    }

    /// Adds one exchange; who called is told by the path.
    mutating func add(
        _ request: HTTPMessage.Request,
        _ response: HTTPMessage.Response?,
        at moment: Instant?,
        microseconds: Int64 = 1000
    ) {
        if let moment, !Instant.given.contains(moment) {
            notes.append(
                "\(request.method) \(request.path) is dated \(moment), which is not within "
                    + "\(Instant.givenText); it was left out"
            )
            return
        }
        let at = moment ?? context.now + .milliseconds(exchanges.count)
        let line = request.method + " " + request.path
        let from = context.webhooks.first { $0.value == line }?.key ?? .app
        let started = max(0, (at - (exchanges.first?.at ?? at)).milliseconds).multiplyingSaturated(
            1000
        )
        exchanges.append(
            Exchange(
                from: from,
                to: .backend,
                namespace: "",
                purpose: .call,
                at: at,
                request: request,
                sequence: exchanges.count,
                invoked: started,
                completed: started.addingSaturated(max(0, microseconds)),
                outcome: response.map(Exchange.Outcome.answered)
                    ?? .failed(
                        .closed,
                        "the file has no answer"
                    )
            )
        )
    }

    /// Path and query of a URL; nil when it is none.
    static func target(_ url: String) -> String? {
        if url.hasPrefix("/") { return url }
        guard let scheme = url.firstRange(of: "://") else { return nil }
        let rest = url[scheme.upperBound...]
        guard let slash = rest.firstIndex(where: { "/?#".contains($0) }) else {
            return rest.isEmpty ? nil : "/"
        }
        let target = rest[slash...].prefix { $0 != "#" }
        return target.hasPrefix("/") ? String(target) : "/" + target
    }

    static func isMethod(_ text: String) -> Bool {
        (1...20).contains(text.utf8.count) && text.utf8.allSatisfy { (65...90).contains($0) }
    }
}
