// Drops that merge and part over a still floor. The light follows the pointer, and iDark is 1 in a dark theme.

float blend(float a, float b) {
  float part = clamp(0.5 + (b - a) / 0.9, 0.0, 1.0);
  return mix(b, a, part) - 0.45 * part * (1.0 - part);
}

float drops(vec3 p) {
  float t = iTime * 0.6;
  float nearest = length(p - vec3(0.0, 0.85 + 0.12 * sin(t), 0.0)) - 0.72;
  nearest = blend(nearest, length(p - vec3(1.15 * cos(t), 0.75 + 0.3 * sin(t * 1.3), 0.9 * sin(t))) - 0.46);
  nearest = blend(nearest, length(p - vec3(1.3 * sin(t * 0.8 + 2.6), 0.95, 0.8 * cos(t * 0.8))) - 0.34);
  return blend(nearest, length(p - vec3(0.5 * sin(t * 1.1), 1.55 + 0.3 * cos(t), 0.3)) - 0.26);
}

float scene(vec3 p) {
  return min(drops(p), p.y);
}

float march(vec3 from, vec3 along) {
  float far = 0.0;
  for (int i = 0; i < 56 && far < 14.0; i++) {
    float step = scene(from + along * far);
    if (step < 0.002) break;
    far += step;
  }
  return far;
}

vec3 normal(vec3 p) {
  vec2 e = vec2(0.002, -0.002);
  return normalize(
    e.xyy * drops(p + e.xyy) + e.yyx * drops(p + e.yyx) + e.yxy * drops(p + e.yxy) + e.xxx * drops(p + e.xxx));
}

float shadow(vec3 p, vec3 light) {
  float lit = 1.0;
  float far = 0.06;
  for (int i = 0; i < 18 && far < 4.0; i++) {
    float step = drops(p + light * far);
    lit = min(lit, 7.0 * step / far);
    far += clamp(step, 0.06, 0.4);
  }
  return smoothstep(0.0, 1.0, lit);
}

vec3 sky(vec3 along) {
  float up = clamp(along.y * 1.4 + 0.12, 0.0, 1.0);
  vec3 day = mix(vec3(0.98, 0.93, 0.87), vec3(0.66, 0.79, 0.93), up);
  vec3 night = mix(vec3(0.17, 0.14, 0.27), vec3(0.03, 0.04, 0.10), up);
  return mix(day, night, iDark);
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
  vec2 at = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
  vec2 pointer = iMouse.z > 0.0 ? iMouse.xy / iResolution.xy - 0.5 : vec2(-0.25, 0.2);
  vec3 light = normalize(vec3(2.4 * pointer.x, 1.0 + pointer.y, 0.75));
  vec3 from = vec3(0.0, 1.3, 4.2);
  vec3 along = normalize(vec3(at.x, at.y - 0.14, -2.45));

  float far = march(from, along);
  vec3 p = from + along * far;
  vec3 colour = sky(along);
  if (far < 14.0) {
    if (drops(p) < p.y) {
      vec3 n = normal(p);
      float rim = pow(1.0 - max(dot(n, -along), 0.0), 2.5);
      vec3 skin = 0.6 + 0.34 * cos(6.283 * (0.4 * n.y + 0.12 * p.x + vec3(0.0, 0.2, 0.36)));
      float shine = pow(max(dot(reflect(along, n), light), 0.0), 48.0);
      colour = skin * (0.35 + 0.75 * max(dot(n, light), 0.0)) * mix(1.0, 1.05, iDark);
      colour = mix(colour, sky(reflect(along, n)), 0.12 + 0.55 * rim) + 0.9 * shine;
    } else {
      vec3 floorColour = mix(vec3(0.93, 0.89, 0.85), vec3(0.11, 0.10, 0.19), iDark);
      float dark = mix(0.55, 0.4, iDark);
      colour = floorColour * mix(dark, 1.0, shadow(p, light)) * (0.75 + 0.25 * smoothstep(0.0, 0.8, drops(p)));
      colour = mix(colour, sky(vec3(along.x, 0.0, along.z)), smoothstep(4.0, 13.0, far));
    }
  }
  fragColor = vec4(pow(colour, vec3(0.9)), 1.0);
}
