/// The parties of the providers.
extension Exchange.Party {
    package static let revenueCat = Self("revenuecat")
    package static let oneSignal = Self("onesignal")
    package static let firebase = Self("firebase")
    package static let purchasely = Self("purchasely")
    package static let despia = Self("despia")
}
