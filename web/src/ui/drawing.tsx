/** Section of a mill race: what the product is named after, beside the forms of people who are not signed in and on an empty Home. */

import "./drawing.css";

/** `isDry`: nothing runs yet, so the water is dashed. `isNamed`: says what its parts stand for. */
export function Drawing({
  isDry = false,
  isNamed = false,
}: {
  isDry?: boolean;
  isNamed?: boolean;
}) {
  return (
    <svg
      className={isDry ? "drawing is-dry" : "drawing"}
      viewBox="0 -14 700 272"
      aria-hidden="true"
    >
      <path className="d-line" d="M0 92H274V262" />
      <path
        className="d-hatch"
        d="M4 93l-8 8M13 93l-8 8M22 93l-8 8M31 93l-8 8M40 93l-8 8M49 93l-8 8M58 93l-8 8M67 93l-8 8M76 93l-8 8M85 93l-8 8M94 93l-8 8M103 93l-8 8M112 93l-8 8M121 93l-8 8M130 93l-8 8M139 93l-8 8M148 93l-8 8M157 93l-8 8M166 93l-8 8M175 93l-8 8M184 93l-8 8M193 93l-8 8M202 93l-8 8M211 93l-8 8M220 93l-8 8M229 93l-8 8M238 93l-8 8M247 93l-8 8M256 93l-8 8M265 93l-8 8"
      />
      <path
        className="d-hatch"
        d="M273 106l-8 8M273 115l-8 8M273 124l-8 8M273 133l-8 8M273 142l-8 8M273 151l-8 8M273 160l-8 8M273 169l-8 8M273 178l-8 8M273 187l-8 8M273 196l-8 8M273 205l-8 8M273 214l-8 8M273 223l-8 8M273 232l-8 8M273 241l-8 8M273 250l-8 8M273 259l-8 8"
      />
      <path className="d-water" d="M0 56H258" />
      <path className="d-level" d="M144 46h12l-6 10Z" />
      <path className="d-water" d="M141 60h18M144 64h12M147 68h6" />
      <path className="d-line" d="M254 92V10M272 92V10M248 10H278M248 16H278" />
      <path className="d-plate" d="M259 10h8v58h-8Z" />
      <path
        className="d-line"
        d="M261 -28V10M265 -28V10M261 -26h4M261 -22h4M261 -18h4M261 -14h4M261 -10h4M261 -6h4M261 -2h4M261 2h4M261 6h4"
      />
      <circle className="d-line" cx="271" cy="3" r="5.5" />
      <path className="d-line" d="M271 3h16" />
      <path className="d-line" d="M302 97L296 262M308 97L314 262" />
      <path className="d-thin" d="M299.6 158h10.8M298 210h14" />
      <path className="d-line" d="M338 97L332 262M344 97L350 262" />
      <path className="d-thin" d="M335.6 158h10.8M334 210h14" />
      <path className="d-line" d="M274 92H432M274 97H432V70H272" />
      <path className="d-water" d="M258 78H432C444 78 456 86 466 106" />
      <path className="d-water" d="M432 85C440 85 448 90 456 100" />
      <circle className="d-fill" cx="436" cy="172" r="70" />
      <circle className="d-line" cx="436" cy="172" r="70" />
      <circle className="d-line" cx="436" cy="172" r="56" />
      <path
        className="d-line"
        d="M492 172L498 172L504.7 158.8M490.1 186.5L495.9 188L505.8 177M484.5 200L489.7 203L502.1 194.9M475.6 211.6L479.8 215.8L494 211.3M464 220.5L467 225.7L481.8 224.9M450.5 226.1L452 231.9L466.6 235M436 228L436 234L449.2 240.7M421.5 226.1L420 231.9L431 241.8M408 220.5L405 225.7L413.1 238.1M396.4 211.6L392.2 215.8L396.7 230M387.5 200L382.3 203L383.1 217.8M381.9 186.5L376.1 188L373 202.6M380 172L374 172L367.3 185.2M381.9 157.5L376.1 156L366.2 167M387.5 144L382.3 141L369.9 149.1M396.4 132.4L392.2 128.2L378 132.7M408 123.5L405 118.3L390.2 119.1M421.5 117.9L420 112.1L405.4 109M436 116L436 110L422.8 103.3M450.5 117.9L452 112.1L441 102.2M464 123.5L467 118.3L458.9 105.9M475.6 132.4L479.8 128.2L475.3 114M484.5 144L489.7 141L488.9 126.2M490.1 157.5L495.9 156L499 141.4"
      />
      <path
        className="d-thin"
        d="M448.3 176.7L490.4 185.3M449.2 172.4L491.3 181M441.3 184.1L465.1 219.9M445 181.6L468.8 217.5M431.3 184.3L422.7 226.4M435.6 185.2L427 227.3M423.9 177.3L388.1 201.1M426.4 181L390.5 204.8M423.7 167.3L381.6 158.7M422.8 171.6L380.7 163M430.7 159.9L406.9 124.1M427 162.4L403.2 126.5M440.7 159.7L449.3 117.6M436.4 158.8L445 116.7M448.1 166.7L483.9 142.9M445.6 163L481.5 139.2"
      />
      <circle className="d-line" cx="436" cy="172" r="13" />
      <circle className="d-line" cx="436" cy="172" r="4" />
      <path className="d-axis" d="M350 172H522M436 92V258" />
      <path className="d-line" d="M274 262H700" />
      <path
        className="d-hatch"
        d="M282 263l-8 8M291 263l-8 8M300 263l-8 8M309 263l-8 8M318 263l-8 8M327 263l-8 8M336 263l-8 8M345 263l-8 8M354 263l-8 8M363 263l-8 8M372 263l-8 8M381 263l-8 8M390 263l-8 8M399 263l-8 8M408 263l-8 8M417 263l-8 8M426 263l-8 8M435 263l-8 8M444 263l-8 8M453 263l-8 8M462 263l-8 8M471 263l-8 8M480 263l-8 8M489 263l-8 8M498 263l-8 8M507 263l-8 8M516 263l-8 8M525 263l-8 8M534 263l-8 8M543 263l-8 8M552 263l-8 8M561 263l-8 8M570 263l-8 8M579 263l-8 8M588 263l-8 8M597 263l-8 8M606 263l-8 8M615 263l-8 8M624 263l-8 8M633 263l-8 8M642 263l-8 8M651 263l-8 8M660 263l-8 8M669 263l-8 8M678 263l-8 8M687 263l-8 8M696 263l-8 8"
      />
      <path className="d-water" d="M416 246H700" />
      <path className="d-level" d="M584 236h12l-6 10Z" />
      <path className="d-water" d="M581 250h18M584 254h12M587 258h6" />
      <path className="d-turn" d="M481 98.7A86 86 0 0 1 514.5 136.9" />
      <path className="d-turn" d="M507.5 132.9L514.5 136.9L515.5 128.9" />
      {isNamed && <Names />}
    </svg>
  );
}

/** Label, what it means, and where both stand. */
const NAMES = [
  ["Source", "where events come from", 0, 14],
  ["Queue, pauses", "what waits, and for how long", 296, 14],
  ["Workflow", "steps of code and actions", 556, 150],
  ["Runs", "stored, to read and replay", 556, 204],
] as const;

function Names() {
  return (
    <g className="d-names">
      <path className="d-thin" d="M480 186L532 146H550M520 246V200H550" />
      {NAMES.map(([name, says, x, y]) => (
        <text key={name} x={x} y={y}>
          <tspan className="d-name">{name}</tspan>
          <tspan x={x} dy="14">
            {says}
          </tspan>
        </text>
      ))}
    </g>
  );
}
