// What a country tells about a shop in it: its currency, how amounts are written there, and its time zones.

import { CURRENCIES, LOCALES } from "./money.js";

/** ISO 3166 country and the ISO 4217 currency of its shops. */
const CURRENCY_OF = Object.fromEntries((
  "AD EUR,AE AED,AF AFN,AG XCD,AI XCD,AL ALL,AM AMD,AO AOA,AR ARS,AS USD,AT EUR,AU AUD,AW AWG,AX EUR,AZ AZN,BA BAM,BB BBD,BD BDT,BE EUR,BF XOF," +
  "BG EUR,BH BHD,BI BIF,BJ XOF,BL EUR,BM BMD,BN BND,BO BOB,BQ USD,BR BRL,BS BSD,BT BTN,BW BWP,BY BYN,BZ BZD,CA CAD,CC AUD,CD CDF,CF XAF,CG XAF," +
  "CH CHF,CI XOF,CK NZD,CL CLP,CM XAF,CN CNY,CO COP,CR CRC,CU CUP,CV CVE,CW XCG,CX AUD,CY EUR,CZ CZK,DE EUR,DJ DJF,DK DKK,DM XCD,DO DOP,DZ DZD," +
  "EC USD,EE EUR,EG EGP,ER ERN,ES EUR,ET ETB,FI EUR,FJ FJD,FK FKP,FM USD,FO DKK,FR EUR,GA XAF,GB GBP,GD XCD,GE GEL,GF EUR,GG GBP,GH GHS,GI GIP," +
  "GL DKK,GM GMD,GN GNF,GP EUR,GQ XAF,GR EUR,GT GTQ,GU USD,GW XOF,GY GYD,HK HKD,HN HNL,HR EUR,HT HTG,HU HUF,ID IDR,IE EUR,IL ILS,IM GBP,IN INR," +
  "IO USD,IQ IQD,IR IRR,IS ISK,IT EUR,JE GBP,JM JMD,JO JOD,JP JPY,KE KES,KG KGS,KH KHR,KI AUD,KM KMF,KN XCD,KP KPW,KR KRW,KW KWD,KY KYD,KZ KZT," +
  "LA LAK,LB LBP,LC XCD,LI CHF,LK LKR,LR LRD,LS LSL,LT EUR,LU EUR,LV EUR,LY LYD,MA MAD,MC EUR,MD MDL,ME EUR,MF EUR,MG MGA,MH USD,MK MKD,ML XOF," +
  "MM MMK,MN MNT,MO MOP,MP USD,MQ EUR,MR MRU,MS XCD,MT EUR,MU MUR,MV MVR,MW MWK,MX MXN,MY MYR,MZ MZN,NA NAD,NC XPF,NE XOF,NF AUD,NG NGN,NI NIO," +
  "NL EUR,NO NOK,NP NPR,NR AUD,NU NZD,NZ NZD,OM OMR,PA USD,PE PEN,PF XPF,PG PGK,PH PHP,PK PKR,PL PLN,PM EUR,PR USD,PS ILS,PT EUR,PW USD,PY PYG," +
  "QA QAR,RE EUR,RO RON,RS RSD,RU RUB,RW RWF,SA SAR,SB SBD,SC SCR,SD SDG,SE SEK,SG SGD,SH SHP,SI EUR,SJ NOK,SK EUR,SL SLE,SM EUR,SN XOF,SO SOS," +
  "SR SRD,SS SSP,ST STN,SV USD,SX XCG,SY SYP,SZ SZL,TC USD,TD XAF,TG XOF,TH THB,TJ TJS,TL USD,TM TMT,TN TND,TO TOP,TR TRY,TT TTD,TV AUD,TW TWD," +
  "TZ TZS,UA UAH,UG UGX,US USD,UY UYU,UZ UZS,VA EUR,VC XCD,VE VES,VG USD,VI USD,VN VND,VU VUV,WF XPF,WS WST,XK EUR,YE YER,YT EUR,ZA ZAR,ZM ZMW," +
  "ZW ZWG"
).split(",").map((pair) => pair.split(" ")));

/** Codes of all countries. */
export const COUNTRIES = Object.keys(CURRENCY_OF);

/** `[code, name]` of all countries in the page's language, sorted as it sorts. */
export function countryNames(language) {
  const names = new Intl.DisplayNames(language, { type: "region", fallback: "code" });
  const order = new Intl.Collator(language);
  return COUNTRIES.map((code) => [code, names.of(code)]).sort((one, other) => order.compare(one[1], other[1]));
}

/** The currency of its shops; empty where the terminal does not know it. */
export function currencyOf(country) {
  const currency = CURRENCY_OF[country] ?? "";
  return CURRENCIES.includes(currency) ? currency : "";
}

/** The country's time zones, as far as the browser knows them. */
export function zonesOf(country) {
  try {
    const region = new Intl.Locale(`und-${country}`);
    return region.getTimeZones?.() ?? region.timeZones ?? [];
  } catch {
    return [];
  }
}

/** Where the first of a country's zones, by the alphabet, is not that of most of its shops. Source: tzdata 2025b, `zone.tab`: each country's
 * first; of AU, BR, CA, RU and UZ, which stand there from one end of the country to the other, that of the largest city. */
const USUAL_ZONES = [
  "America/New_York", "America/Toronto", "America/Mexico_City", "America/Sao_Paulo", "America/Santiago", "America/Nuuk", "America/Godthab",
  "Asia/Nicosia", "Asia/Tashkent", "Asia/Ulaanbaatar", "Australia/Sydney", "Europe/Lisbon", "Europe/Madrid", "Europe/Moscow", "Pacific/Majuro",
  "Pacific/Port_Moresby", "Pacific/Tahiti", "Pacific/Tarawa",
];

/** The time zone to propose for a shop there: the browser's own where it is one of the country's, else the usual one of the country; the
 * browser's own too where it knows none of the country. */
export function zoneOf(country, own = Intl.DateTimeFormat().resolvedOptions().timeZone ?? "") {
  const zones = zonesOf(country);
  return zones.length === 0 || zones.includes(own) ? own : zones.find((zone) => USUAL_ZONES.includes(zone)) ?? zones[0];
}

/** How amounts are written there: the country's own way, else its language's, else the usual. */
export function localeOf(country) {
  const own = LOCALES.find((locale) => locale.endsWith(`-${country}`));
  if (own) return own;
  try {
    const { language } = new Intl.Locale(`und-${country}`).maximize();
    return LOCALES.find((locale) => locale.startsWith(`${language}-`)) ?? "en-US";
  } catch {
    return "en-US";
  }
}

/** Where this browser most likely is: its clock knows better than its language. Empty where neither says. */
export function guessCountry() {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const spoken = (navigator.languages ?? [navigator.language]).map((tag) => tag.split("-").at(-1)).filter((part) => part in CURRENCY_OF);
  if (!zone || zone === "UTC" || zone.startsWith("Etc/")) return spoken[0] ?? "";
  return spoken.find((country) => zonesOf(country).includes(zone)) ?? COUNTRIES.find((country) => zonesOf(country).includes(zone)) ?? spoken[0] ?? "";
}
