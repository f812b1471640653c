// swift-tools-version: 6.2

import PackageDescription

/// Settings for every target: warnings are errors, and an import whose types are part of the API
/// must be declared as such.
let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
]

let package = Package(
    name: "assay",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "assay", targets: ["AssayCLI"])
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
    ],
    targets: [
        .target(
            name: "Values",
            dependencies: [.product(name: "NIOConcurrencyHelpers", package: "swift-nio")],
            swiftSettings: strict
        ),
        .target(name: "Grammar", dependencies: ["Values"], swiftSettings: strict),
        .target(name: "Redaction", dependencies: ["Values"], swiftSettings: strict),
        .target(
            name: "Providers",
            dependencies: [
                "Grammar", "Redaction", "Values",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "HashTreeCollections", package: "swift-collections"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "X509", package: "swift-certificates"),
            ],
            resources: [.embedInCode("Despia/Shim/shim.js")],
            swiftSettings: strict
        ),
        .target(
            name: "Contracts",
            dependencies: ["Grammar", "Providers", "Redaction", "Values"],
            swiftSettings: strict,
            plugins: ["EmbedContracts"]
        ),
        .target(
            name: "Judging",
            dependencies: ["Contracts", "Grammar", "Providers", "Redaction", "Values"],
            swiftSettings: strict
        ),
        .target(
            name: "ContractFiles",
            dependencies: [
                "Providers", "Contracts", "Grammar", "Values",
                .product(name: "Yams", package: "Yams"),
            ],
            swiftSettings: strict,
            plugins: ["EmbedContracts"]
        ),
        .target(
            name: "Reports",
            dependencies: ["Providers", "Contracts", "Judging", "Redaction", "Values"],
            swiftSettings: strict
        ),
        .target(
            name: "Exploration",
            dependencies: ["Contracts", "Grammar", "Judging", "Providers", "Values"],
            swiftSettings: strict
        ),
        .target(
            name: "FakeServers",
            dependencies: [
                "Contracts", "Grammar", "Providers", "Redaction", "Values",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOTLS", package: "swift-nio"),
            ],
            resources: [
                .embedInCode("Intercept/egress.cjs"), .embedInCode("Intercept/sitecustomize.py"),
                .embedInCode("Live/live.css"), .embedInCode("Live/live.html"),
                .embedInCode("Live/live.js"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Programs",
            dependencies: ["Values"],
            swiftSettings: strict
        ),
        .target(
            name: "Browser",
            dependencies: ["Programs", "Values"],
            swiftSettings: strict
        ),
        .target(
            name: "Phone",
            dependencies: ["Contracts", "Grammar", "Judging", "Providers", "Values"],
            swiftSettings: strict
        ),
        .target(
            name: "Replay",
            dependencies: [
                "Browser", "Contracts", "Exploration", "FakeServers", "Grammar", "Judging", "Phone",
                "Programs", "Providers", "Redaction", "Values",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPCompression", package: "swift-nio-extras"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Recording",
            dependencies: [
                "ContractFiles", "Contracts", "FakeServers", "Grammar", "Judging", "Programs",
                "Providers", "Redaction", "Replay", "Values",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "ReferenceBackend",
            dependencies: [
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "AssayCLI",
            dependencies: [
                "Browser", "ContractFiles", "Contracts", "Exploration", "FakeServers", "Grammar",
                "Judging", "Phone", "Programs", "Providers", "Recording", "Redaction",
                "ReferenceBackend", "Replay", "Reports", "Values",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ExplorationTests",
            dependencies: [
                "ContractFiles", "Contracts", "Exploration", "Ferry", "Judging", "Providers",
                "Values",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ValuesTests",
            dependencies: [
                "Contracts", "Providers", "TestSupport", "Values",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "GrammarTests",
            dependencies: [
                "Contracts", "Grammar", "TestSupport", "Values",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "RedactionTests",
            dependencies: [
                "Contracts", "Redaction", "Values",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ContractsTests",
            dependencies: [
                "Contracts", "Grammar", "Providers", "Redaction", "TestSupport", "Values",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "JudgingTests",
            dependencies: [
                "Contracts", "Grammar", "Judging", "Providers", "Redaction", "TestSupport",
                "Values",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ProvidersTests",
            dependencies: [
                "Contracts", "Grammar", "Judging", "Providers", "Redaction", "TestSupport",
                "Values",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ContractFilesTests",
            dependencies: [
                "ContractFiles", "Contracts", "Grammar", "Judging", "Providers", "Redaction",
                "TestSupport", "Values",
            ],
            resources: [.copy("Malformed")],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ReportsTests",
            dependencies: [
                "Contracts", "Judging", "Providers", "Redaction", "Reports", "TestSupport",
                "Values",
            ],
            resources: [.copy("Golden")],
            swiftSettings: strict
        ),
        .target(name: "TestProcess", path: "Tests/TestProcess"),
        .target(
            name: "TestSupport",
            dependencies: [
                "Contracts", "Grammar", "Programs", "Providers", "TestProcess", "Values",
            ],
            path: "Tests/TestSupport",
            swiftSettings: strict
        ),
        .target(
            name: "Ferry",
            dependencies: [
                "Contracts", "Exploration", "Grammar", "Providers", "Redaction", "Values",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            path: "Tests/Ferry",
            swiftSettings: strict
        ),
        .target(
            name: "TestBackend",
            dependencies: [
                "Contracts", "FakeServers", "Providers", "Replay", "TestSupport", "Values",
            ],
            path: "Tests/TestBackend",
            swiftSettings: strict
        ),
        .testTarget(
            name: "FakeServersTests",
            dependencies: [
                "Contracts", "FakeServers", "Ferry", "Grammar", "Providers", "Redaction", "Replay",
                "TestBackend", "TestSupport", "Values",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ReplayTests",
            dependencies: [
                "AssayCLI", "ContractFiles", "Contracts", "Exploration", "FakeServers", "Ferry",
                "Grammar", "Judging", "Phone", "Programs", "Providers", "Redaction", "Replay",
                "TestBackend", "TestSupport", "Values",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "RecordingTests",
            dependencies: [
                "ContractFiles", "Contracts", "FakeServers", "Ferry", "Grammar", "Judging",
                "Providers", "Recording", "Redaction", "Replay", "Reports", "TestBackend",
                "TestSupport", "Values",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ProgramsTests",
            dependencies: [
                "Programs", "TestSupport",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "PhoneTests",
            dependencies: [
                "ContractFiles", "Contracts", "Grammar", "Judging", "Phone", "Providers", "Replay",
                "Values",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "CommandLineTests",
            dependencies: [
                "AssayCLI", "Contracts", "Judging", "TestSupport", "Values",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ReferenceBackendTests",
            dependencies: [
                "ReferenceBackend", .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "RepositoryTests",
            dependencies: [
                "ContractFiles", "Contracts", "Phone", "ReferenceBackend", "TestSupport",
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "EmbedContractsTool",
            dependencies: [.product(name: "Yams", package: "Yams")],
            swiftSettings: strict
        ),
        .plugin(
            name: "EmbedContracts",
            capability: .buildTool(),
            dependencies: ["EmbedContractsTool"],
            path: "Sources/EmbedContractsPlugin"
        ),
    ],
    swiftLanguageModes: [.v6]
)

// The performance targets of the architecture, measured: ASSAY_BENCHMARKS=1 swift run -c release
// AssayBenchmarks
if Context.environment["ASSAY_BENCHMARKS"] != nil {
    package.targets.append(
        .executableTarget(
            name: "AssayBenchmarks",
            dependencies: [
                "Contracts", "Judging", "Phone", "Programs", "Providers", "Recording", "Values",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            swiftSettings: strict
        )
    )
}

// Mechanical mutants of the reference backend, which are inactive until one is selected:
// Tests/Mutation/campaign.py
if let stage = Context.environment["ASSAY_MUTATION"] {
    package.dependencies.append(
        .package(url: "https://github.com/swiftlang/swift-syntax", from: "603.0.1")
    )
    package.targets.append(
        .executableTarget(
            name: "Mutator",
            dependencies: [
                .product(name: "SwiftOperators", package: "swift-syntax"),
                .product(name: "SwiftParser", package: "swift-syntax"),
                .product(name: "SwiftSyntax", package: "swift-syntax"),
            ],
            path: "Tests/Mutation/Mutator",
            swiftSettings: strict
        )
    )
    for target in package.targets where target.name == "ReferenceBackend" && stage == "mutants" {
        target.path = ".build/mutation/ReferenceBackend"
        // A condition that depends only on the number of a mutant must not be an error.
        target.swiftSettings = strict.dropLast()
    }
}
