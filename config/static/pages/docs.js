// Shows the OpenAPI document with Redoc.
"use strict";

// Redoc would load its vendor's logo from another host. Replacing each image with a span prevents that.
document.createElement = function (name, ...options) {
  return Document.prototype.createElement.call(document, name === "img" ? "span" : name, ...options);
};

document.addEventListener("DOMContentLoaded", () => {
  const page = document.getElementById("docs");
  const font = "Inter, sans-serif";
  Redoc.init(
    page.dataset.document,
    {
      disableSearch: true, // the search would need a web worker created from a string, which the Content-Security-Policy forbids
      nativeScrollbars: true,
      hideLoading: true,
      theme: { typography: { fontFamily: font, headings: { fontFamily: font } } },
    },
    page,
  );
});
