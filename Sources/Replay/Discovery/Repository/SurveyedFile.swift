internal import Providers
internal import Values

/// A file of a repository, with the facts that do not depend on other files.
///
/// The programs of a repository share files, and each file is searched only once.
struct SurveyedFile: Sendable {
    let file: SourceSurvey.File
    let source: SourceText
    let isSource: Bool
    let routes: RouteFile
    /// The path prefixes of all routes of a framework, by the name of the framework.
    let globalPrefixes: [String: String]
    /// The modules that the file imports, by the name under which it uses them.
    let imports: [String: [String]]
    /// The constants with a path, such as `API_PREFIX = "/api/v1"`, by their names.
    private(set) var pathConstants: [String: String] = [:]
    /// The environment variables that the file reads.
    let variables: [SourceSurvey.Variable]
    private(set) var fixedHosts: [SourceSurvey.FixedHost] = []
    private(set) var mentionedProviders: Set<Exchange.Party> = []
    /// The providers whose host name occurs in the file.
    private(set) var calledProviders: Set<Exchange.Party> = []
    private(set) var entitlementUses = EntitlementUses()
    private(set) var productUses = ProductUses()
    private(set) var sessionHeaders = SessionHeaders()
    /// Whether the code computes an HMAC to sign or verify data.
    private(set) var usesHMAC = false
    /// Whether the code or a list of packages names a library that loads a `.env` file.
    private(set) var loadsEnvironmentFile = false
    /// Whether the code puts `Bearer` before a variable.
    private(set) var prependsBearer = false

    init(_ file: SourceSurvey.File) {
        let source = SourceText(path: file.path, text: file.text)
        (self.file, self.source) = (file, source)
        isSource = SourceSurvey.isSource(file.path)
        let fileExtension = file.path.split(separator: ".").last.map(String.init) ?? ""
        routes = RouteFile(
            source,
            Framework.all.filter { $0.extensions.contains(fileExtension) }
        )
        var globalPrefixes: [String: String] = [:]
        for framework in Framework.all {
            for pattern in framework.routes.globalPrefixes {
                if let path = source.matches(pattern).first?["path"] {
                    globalPrefixes[framework.name] = path
                }
            }
        }
        self.globalPrefixes = globalPrefixes
        imports = ModuleIndex.imports(of: source)
        variables = VariableSurvey.variables(of: source)
        let lowercaseText = source.text.lowercased()
        if !file.path.hasSuffix(".md") { findProviders(in: lowercaseText) }
        let isTest = ["test", "spec", "fixture", "mock"].contains(
            where: file.path.lowercased().contains
        )
        if !isTest, isSource || ProductUses.mayBeListed(inFile: source.name) {
            productUses = ProductUses(source)
        }
        let loaderForms = isSource ? Self.environmentLoaders : ["dotenv"]
        loadsEnvironmentFile =
            !file.path.hasSuffix(".md") && loaderForms.contains(where: lowercaseText.contains)
        guard isSource else { return }
        for match in source.matches(Self.pathConstant) {
            guard let name = match["name"], let path = match["path"] else { continue }
            pathConstants[name] = pathConstants[name] ?? path
        }
        usesHMAC = Self.signatureForms.contains(where: lowercaseText.contains)
        prependsBearer = Self.bearerForms.contains(where: source.text.contains)
        if source.text.contains("://") { findFixedHosts() }
        guard !isTest else { return }
        entitlementUses = EntitlementUses(source)
        sessionHeaders = SessionHeaders(source)
    }

    private static let pathConstant: Pattern =
        #"^[ \t]*(?:export[ \t]+)?(?:const[ \t]+|let[ \t]+|var[ \t]+)?(?<name>[A-Za-z_]\w{2,})[ \t]*(?::[ \t]*\w+[ \t]*)?=[ \t]*["'`](?<path>/[\w/.-]*)["'`]"#

    /// The forms, in lower case, in which code loads a `.env` file.
    private static let environmentLoaders = [
        "dotenv", "env_file", "env-file", "decouple", "environs", "environ.env", "read_env",
        "configmodule", "loadenv",
    ]

    /// The forms, in lower case, in which code computes an HMAC.
    ///
    /// A comparison in constant time, such as `hmac.compare_digest`, computes none.
    private static let signatureForms = [
        "createhmac", "hmac.new", "hash_hmac", "hmacsha", "openssl::hmac", "getinstance(\"hmac",
        "hmac<sha", "hmac::new", ":crypto.mac(", "name: 'hmac'", "name: \"hmac\"",
    ]

    /// The forms in which code puts `Bearer` before a variable.
    private static let bearerForms = [
        "Bearer ${", "Bearer {", "Bearer \" +", "'Bearer ' +", "Bearer %s", "Bearer #{",
    ]

    private mutating func findProviders(in lowercaseText: String) {
        for provider in Services.providers {
            let isCalled = provider.exclusiveHosts.contains(where: lowercaseText.contains)
            // A provider name of up to four letters also occurs within unrelated words, so it is
            // ignored.
            let names = provider.hints.environmentVariableNameParts.map { $0.lowercased() }
                .filter { $0.count > 4 }
            if isCalled { calledProviders.insert(provider.party) }
            if isCalled || names.contains(where: lowercaseText.contains) {
                mentionedProviders.insert(provider.party)
            }
        }
    }

    private mutating func findFixedHosts() {
        for (index, line) in source.lines.enumerated() where line.contains("://") {
            // A host in such a line may be only the default value of an environment variable, so
            // the backend may not be fixed to it.
            let isFallback = ["process.env", "environ", "etenv", "ENV"].contains(
                where: line.contains
            )
            guard !isFallback else { continue }
            for match in SourceSurvey.captures(#"https?://([A-Za-z0-9.-]+\.[a-z]{2,})"#, line) {
                let location = "\(source.path):\(index + 1)"
                fixedHosts.append(
                    SourceSurvey.FixedHost(host: match[0].lowercased(), location: location)
                )
            }
        }
    }
}
