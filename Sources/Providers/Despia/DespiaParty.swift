package import Values

extension Exchange.Party {
    package static let despia = Exchange.Party.bridge
}
